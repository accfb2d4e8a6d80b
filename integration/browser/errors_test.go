package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"heddle/am/client"
	"heddle/integration/minicluster"
	"heddle/rm"
	"heddle/yarn/records"
)

// ask reads an answer of the REST API, of whatever status.
func ask(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// The page of an application that waits left out what would help, which --json had; and pages showed the Java classes of errors.
func TestPagesSayWhatHelpsAndNameNoClasses(t *testing.T) {
	c := minicluster.Start(t, 1, nil)
	_, apps := alice(t, c)
	id := submit(t, apps, client.Submission{Name: "large", Resource: records.NewResource(8192, 1)})
	at := "http://" + c.Conf.Text(rm.WebAddress)
	var why struct {
		Pending struct {
			Reason []struct{ Remedy string }
		}
	}
	answer := ask(t, at+"/ws/v1/heddle/apps/"+id.String()+"/pending?user.name=alice")
	if err := json.Unmarshal([]byte(answer), &why); err != nil || len(why.Pending.Reason) == 0 || why.Pending.Reason[0].Remedy == "" {
		t.Fatalf("no remedy: %v, %s", err, answer)
	}
	Shows(t, at+"/cluster/app/"+id.String(), "What would free it", why.Pending.Reason[0].Remedy)

	const class, says = "java.lang.IllegalArgumentException: ", "Invalid ApplicationId prefix: nonsense"
	if answer := ask(t, at+"/ws/v1/cluster/apps/nonsense"); !strings.Contains(answer, class+says) {
		t.Fatalf("an error without a class proves nothing: %s", answer)
	}
	if page := Shows(t, at+"/cluster/app/nonsense", says); strings.Contains(page, "IllegalArgumentException") {
		t.Errorf("it names a class: %s", page)
	}
}
