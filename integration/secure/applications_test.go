package secure

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
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

// proxiedBy returns the addresses of applications' pages.
func proxiedBy(l *hadooplab.Lab) func(app string) string {
	return func(app string) string { return fmt.Sprintf("http://localhost:%d/proxy/%s", l.Port("rm-http"), app) }
}

// MapReduce's own ApplicationMaster serves its pages with the certificate that it was given, and demands the proxy's. heddle mr serves its page with its own, unasked. One without HTTPS is refused.
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
		return runningApp(t, l)
	}
	proxied := proxiedBy(l)
	app := begin("-Dyarn.app.mapreduce.am.webapp.https.enabled=true", "-Dyarn.app.mapreduce.am.webapp.https.client.auth=true")
	await.Slowly(t, "the map runs", func() bool {
		return strings.Contains(page(t, proxied(app)+"/ws/v1/mapreduce/jobs"), `"mapsRunning":1,`)
	})
	if out, err := command(t, l, "app", "-kill", app); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	input := l.Dir() + "/input"
	write(t, input, "a line\n")
	ours := exec.CommandContext(t.Context(), heddle, "mr", "-input", input, "-output", input+"-out", "-mapper", "sh -c 'sleep 30; cat'", "-numReduceTasks", "0")
	ours.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
	if err := ours.Start(); err != nil {
		t.Fatal(err)
	}
	await.Slowly(t, "the page of heddle mr comes by HTTPS", func() bool {
		out, err := command(t, l, "app", "-list", "-appStates", "RUNNING")
		id := submitted.FindString(out)
		return err == nil && id != "" && id != app && strings.Contains(page(t, proxied(id)+"/"), "1 running")
	})
	if err := ours.Wait(); err != nil {
		t.Errorf("heddle mr: %v", err)
	}
	plain := begin()
	await.Slowly(t, "an ApplicationMaster without HTTPS is refused", func() bool {
		return strings.Contains(page(t, proxied(plain)+"/"), "HTTPS must be used")
	})
}

// With LENIENT, MapReduce's ApplicationMaster serves its pages with the certificate that it was given, or without one, as the job says.
func TestLenientStockApplicationMasters(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := hadooplab.Start(t, hadooplab.Options{
		ResourceManager: true, NodeManagers: 1, Heddle: heddle,
		Site: map[string]string{"yarn.resourcemanager.application-https.policy": "LENIENT"},
	})
	for _, options := range [][]string{
		{"-Dyarn.app.mapreduce.am.webapp.https.enabled=true", "-Dyarn.app.mapreduce.am.webapp.https.client.auth=true"},
		{"-Dyarn.app.mapreduce.am.webapp.https.enabled=true"},
		nil,
	} {
		args := append([]string{"class", "org.apache.hadoop.mapreduce.SleepJob"}, options...)
		job, err := l.Begin("", append(args, "-m", "1", "-r", "0", "-mt", "600000")...)
		if err != nil {
			t.Fatal(err)
		}
		job.EndWith(t)
		app := runningApp(t, l)
		await.Slowly(t, "its page comes through the proxy", func() bool {
			return strings.Contains(page(t, proxiedBy(l)(app)+"/ws/v1/mapreduce/jobs"), `"mapsRunning":1,`)
		})
		scheme := "http://"
		if options != nil {
			scheme = "https://"
		}
		if out, err := command(t, l, "app", "-status", app); err != nil || !strings.Contains(out, "Tracking-URL : "+scheme) {
			t.Errorf("%q: %v\n%s", options, err, out)
		}
		if out, err := command(t, l, "app", "-kill", app); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}
