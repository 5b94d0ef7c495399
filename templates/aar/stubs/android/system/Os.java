package android.system;

/** What HexpackRuntime is compiled against; an app brings Android's own. */
public final class Os {
    private Os() {}

    public static void setenv(String name, String value, boolean overwrite) throws ErrnoException {
        throw new UnsupportedOperationException(name);
    }
}
