import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

// Reads attributes of beans from /jmx, as monitoring written in Java does: the address of the page, then pairs of bean and attribute.
public class Jmx {
    public static void main(String[] args) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        ObjectMapper mapper = new ObjectMapper();
        for (int i = 1; i < args.length; i += 2) {
            URI page = new URI("http", args[0], "/jmx", "qry=" + args[i], null);
            HttpResponse<String> answer = client.send(HttpRequest.newBuilder(page).build(), HttpResponse.BodyHandlers.ofString());
            JsonNode beans = mapper.readTree(answer.body()).get("beans");
            if (answer.statusCode() != 200 || beans.size() != 1) {
                throw new IllegalStateException(page + ": " + answer.statusCode() + ", " + beans.size() + " beans");
            }
            System.out.println(beans.get(0).get(args[i + 1]));
        }
    }
}
