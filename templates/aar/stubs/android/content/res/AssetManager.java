package android.content.res;

import java.io.IOException;
import java.io.InputStream;

/** What HexpackRuntime is compiled against; an app brings Android's own, which is final. */
public class AssetManager {
    public InputStream open(String name) throws IOException {
        throw new IOException(name);
    }
}
