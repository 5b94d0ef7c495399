package android.content;

import android.content.pm.ApplicationInfo;
import android.content.res.AssetManager;
import java.io.File;

/** What HexpackRuntime is compiled against; an app brings Android's own. */
public abstract class Context {
    public abstract ApplicationInfo getApplicationInfo();

    public abstract AssetManager getAssets();

    public abstract File getNoBackupFilesDir();
}
