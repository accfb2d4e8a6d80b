package secure

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// page gets a page by HTTP, whatever its status.
func page(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// MapReduce's own ApplicationMaster serves its pages with the certificate that it was given, and demands the proxy's. One without HTTPS is refused.
func TestStockApplicationMasterWithTLS(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := hadooplab.Start(t, hadooplab.Options{
		ResourceManager: true, NodeManagers: 1, Heddle: heddle,
		Site: map[string]string{"yarn.resourcemanager.application-https.policy": "STRICT"},
	})
	begin := func(options ...string) string {
		t.Helper()
		args := append([]string{"class", "org.apache.hadoop.mapreduce.SleepJob"}, options...)
		job, err := l.Begin("", append(args, "-m", "1", "-r", "0", "-mt", "600000")...)
		if err != nil {
			t.Fatal(err)
		}
		job.EndWith(t)
		return await.Value(t, "the job runs", func() (string, bool) {
			out, err := command(t, l, "app", "-list", "-appStates", "RUNNING")
			id := submitted.FindString(out)
			return id, err == nil && id != ""
		})
	}
	proxied := func(app string) string { return fmt.Sprintf("http://localhost:%d/proxy/%s", l.Port("rm-http"), app) }

	app := begin("-Dyarn.app.mapreduce.am.webapp.https.enabled=true", "-Dyarn.app.mapreduce.am.webapp.https.client.auth=true")
	await.Slowly(t, "the map runs", func() bool {
		return strings.Contains(page(t, proxied(app)+"/ws/v1/mapreduce/jobs"), `"mapsRunning":1,`)
	})
	if out, err := command(t, l, "app", "-kill", app); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	plain := begin()
	await.Slowly(t, "an ApplicationMaster without HTTPS is refused", func() bool {
		return strings.Contains(page(t, proxied(plain)+"/"), "HTTPS must be used")
	})
}
