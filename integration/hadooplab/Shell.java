import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.security.Permission;
import java.util.Arrays;

/**
 * Runs main methods one after the other, without starting Java for each. A line of standard input is a class and its
 * arguments, parted by tabs; the answer is a line "RESULT code bytes bytes" and what went to standard output and error.
 */
public class Shell {
    static final class Exit extends SecurityException {
        final int code;

        Exit(int code) {
            this.code = code;
        }
    }

    static final class Guard extends SecurityManager {
        @Override
        public void checkPermission(Permission p) {}

        @Override
        public void checkPermission(Permission p, Object context) {}

        @Override
        public void checkExit(int code) {
            throw new Exit(code);
        }
    }

    public static void main(String[] args) throws Exception {
        System.setSecurityManager(new Guard());
        PrintStream out = System.out, err = System.err;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.setIn(new ByteArrayInputStream(new byte[0]));
        for (String line; (line = in.readLine()) != null;) {
            String[] words = line.split("\t", -1);
            ByteArrayOutputStream o = new ByteArrayOutputStream(), e = new ByteArrayOutputStream();
            System.setOut(new PrintStream(o, true));
            System.setErr(new PrintStream(e, true));
            int[] code = {0};
            Thread t = new Thread(() -> code[0] = call(words[0], Arrays.copyOfRange(words, 1, words.length)));
            t.start();
            t.join();
            System.out.flush();
            System.err.flush();
            System.setOut(out);
            System.setErr(err);
            out.println("RESULT " + (code[0] & 255) + " " + o.size() + " " + e.size());
            o.writeTo(out);
            e.writeTo(out);
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    static int call(String name, String[] args) {
        try {
            var main = Class.forName(name).getDeclaredMethod("main", String[].class);
            main.setAccessible(true); // the class needn't be public
            main.invoke(null, (Object) args);
            return 0;
        } catch (InvocationTargetException x) {
            if (x.getCause() instanceof Exit) {
                return ((Exit) x.getCause()).code;
            }
            x.getCause().printStackTrace();
        } catch (ReflectiveOperationException x) {
            x.printStackTrace();
        }
        return 1;
    }
}
