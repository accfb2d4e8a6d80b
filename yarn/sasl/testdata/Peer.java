import java.io.*;
import java.util.*;
import javax.security.auth.callback.*;
import javax.security.sasl.*;

/**
 * The JDK's DIGEST-MD5, driven by lines on standard input; every line is answered by one line, "ok HEX" or "err TEXT".
 *
 *   protect QOP CIPHER     sets what those that begin from now on ask for; CIPHER may be empty
 *   wrap HEX               protects a message; unwrap HEX opens a token (as whoever began last)
 *   server USER PASSWORD   begins as a server that knows one user; answers with the challenge
 *   evaluate HEX           gives the server the client's response; answers with rspauth
 *   client USER PASSWORD   begins as a client; answers with nothing
 *   respond HEX            gives the client a challenge, or rspauth at last; answers with its response
 */
public class Peer {
    static String qop = "auth", cipher = "";
    static boolean isServer;

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "ISO-8859-1"));
        SaslServer server = null;
        SaslClient client = null;
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ", -1);
            byte[] out = new byte[0];
            String error = null;
            try {
                switch (words[0]) {
                    case "protect":
                        qop = words[1];
                        cipher = words[2];
                        break;
                    case "wrap":
                    case "unwrap": {
                        byte[] b = HexFormat.of().parseHex(words[1]);
                        boolean wrap = words[0].equals("wrap");
                        if (isServer) out = wrap ? server.wrap(b, 0, b.length) : server.unwrap(b, 0, b.length);
                        else out = wrap ? client.wrap(b, 0, b.length) : client.unwrap(b, 0, b.length);
                        break;
                    }
                    case "server":
                        isServer = true;
                        server = Sasl.createSaslServer("DIGEST-MD5", "", "default", properties(), handler(words[1], words[2]));
                        out = server.evaluateResponse(new byte[0]);
                        break;
                    case "evaluate":
                        out = server.evaluateResponse(HexFormat.of().parseHex(words[1]));
                        if (!server.isComplete()) error = "not complete";
                        break;
                    case "client":
                        isServer = false;
                        client = Sasl.createSaslClient(new String[] {"DIGEST-MD5"}, null, "", "default", properties(),
                            handler(words[1], words[2]));
                        break;
                    case "respond":
                        out = client.evaluateChallenge(HexFormat.of().parseHex(words[1]));
                        break;
                    default:
                        error = "unknown command " + words[0];
                }
            } catch (SaslException e) {
                error = e.getMessage();
            } catch (RuntimeException e) {
                error = "exception " + e;
            }
            System.out.println(error == null ? "ok " + (out == null ? "" : HexFormat.of().formatHex(out))
                : "err " + error.replace('\n', ' '));
        }
    }

    static Map<String, String> properties() {
        Map<String, String> p = new HashMap<>(Map.of(Sasl.QOP, qop, Sasl.SERVER_AUTH, "true"));
        if (!cipher.isEmpty()) p.put("com.sun.security.sasl.digest.cipher", cipher);
        return p;
    }

    static CallbackHandler handler(String user, String password) {
        return callbacks -> {
            String name = user;
            for (Callback c : callbacks) {
                if (c instanceof NameCallback) {
                    NameCallback n = (NameCallback) c;
                    if (n.getDefaultName() != null) name = n.getDefaultName();
                    n.setName(user);
                } else if (c instanceof RealmCallback) {
                    ((RealmCallback) c).setText(((RealmCallback) c).getDefaultText());
                } else if (c instanceof RealmChoiceCallback) {
                    ((RealmChoiceCallback) c).setSelectedIndex(0);
                } else if (c instanceof AuthorizeCallback) {
                    AuthorizeCallback a = (AuthorizeCallback) c;
                    a.setAuthorized(a.getAuthenticationID().equals(a.getAuthorizationID()));
                } else if (!(c instanceof PasswordCallback)) {
                    throw new UnsupportedCallbackException(c);
                }
            }
            for (Callback c : callbacks) {
                if (!(c instanceof PasswordCallback)) continue;
                if (!name.equals(user)) throw new IOException("who is " + name);
                ((PasswordCallback) c).setPassword(password.toCharArray());
            }
        };
    }
}
