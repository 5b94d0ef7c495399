package android.content.pm;

/** What HexpackRuntime is compiled against; an app brings Android's own. */
public class ApplicationInfo {
    public String nativeLibraryDir;
}
