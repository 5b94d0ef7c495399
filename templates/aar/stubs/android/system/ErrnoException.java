package android.system;

/** What HexpackRuntime is compiled against; an app brings Android's own. */
public class ErrnoException extends Exception {}
