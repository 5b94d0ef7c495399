import android.content.Context;
import android.content.pm.ApplicationInfo;
import android.content.res.AssetManager;
import hexpack.text_direction.HexpackRuntime;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;

/** An app on a JVM: APP_FOLDER has its assets, its installed libraries and its storage. */
public final class App {
    static final class Installed extends Context {
        private final File folder;

        Installed(String folder) {
            this.folder = new File(folder);
        }

        @Override
        public ApplicationInfo getApplicationInfo() {
            ApplicationInfo info = new ApplicationInfo();
            info.nativeLibraryDir = new File(folder, "lib").getPath();
            return info;
        }

        @Override
        public AssetManager getAssets() {
            return new AssetManager() {
                @Override
                public InputStream open(String name) throws IOException {
                    System.out.println("open " + name);
                    return new FileInputStream(new File(folder, "assets/" + name));
                }
            };
        }

        @Override
        public File getNoBackupFilesDir() {
            return new File(folder, "no_backup");
        }
    }

    public static void main(String[] arguments) throws Exception {
        HexpackRuntime runtime;
        try {
            runtime = HexpackRuntime.prepare(new Installed(arguments[0]));
            if (System.getenv("PACK") != null) {
                System.out.println("models " + runtime.useModels(new File(System.getenv("PACK"))));
            }
        } catch (IOException refused) {
            System.out.println("refused " + refused.getMessage());
            return;
        }
        System.out.println("folder " + runtime.folder());
        System.out.println("model " + runtime.model("sm8650"));
        System.out.println("program " + String.join(" ", runtime.program("--doctor").command()));
        runtime.applyEnvironment();
    }
}
