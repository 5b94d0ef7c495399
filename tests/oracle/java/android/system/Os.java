package android.system;

/** Prints what would be set; a JVM cannot change its environment. */
public final class Os {
    public static void setenv(String name, String value, boolean overwrite) throws ErrnoException {
        System.out.println("setenv " + name + "=" + value + " " + overwrite);
    }
}
