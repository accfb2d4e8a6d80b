package parity

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/output"
	"heddle/internal/ports"
)

// debian returns the folder of Debian's Prometheus. It downloads the package the first time, and doesn't install it.
func debian(t *testing.T) string {
	t.Helper()
	dir, err := hadooplab.Cached(t.Context(), "prometheus", "files", func(ctx context.Context, base, partial string) error {
		download := exec.CommandContext(ctx, "sh", "-ec", "apt-get download -q prometheus || { apt-get update -q; apt-get download -q prometheus; }; dpkg-deb -x prometheus_*.deb \"$1\"", "sh", partial)
		download.Dir = base
		if out, err := download.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", download, err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Debian's Prometheus scrapes both pages of both daemons, and its promtool finds nothing to object to in Heddle's own.
func TestPrometheusScrapesBothDaemons(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	dir := debian(t)
	l := shared.Lab(t)
	daemons := map[string]string{"rm": "rm-http", "nm": "nodemanager1-http"}
	var jobs strings.Builder
	for role, service := range daemons {
		for _, path := range []string{"/prom", "/metrics"} {
			check := exec.CommandContext(t.Context(), filepath.Join(dir, "usr/bin/promtool"), "check", "metrics")
			check.Stdin = strings.NewReader(get(t, l, service, path))
			out, _ := check.CombinedOutput()
			// 3 is for names: those of /prom are YARN's
			if code := check.ProcessState.ExitCode(); code != 0 && (path == "/metrics" || code != 3) {
				t.Errorf("%s of %s: exit code %d\n%s", path, role, code, out)
			}
			fmt.Fprintf(&jobs, "- {job_name: %[1]s%[2]s, metrics_path: %[2]s, static_configs: [{targets: ['localhost:%[3]d']}]}\n", role, path, l.Port(service))
		}
	}
	home := t.TempDir()
	file := filepath.Join(home, "prometheus.yml")
	if err := os.WriteFile(file, []byte("global: {scrape_interval: 1s}\nscrape_configs:\n"+jobs.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	free, release, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	at := fmt.Sprintf("localhost:%d", free[0])
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "usr/bin/prometheus"), "--config.file="+file, "--storage.tsdb.path="+filepath.Join(home, "data"), "--web.listen-address="+at)
	var log output.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	}()
	for query, want := range map[string]string{
		`count(up == 1)`: "4",
		`queue_metrics_available_mb{queue="root",job="rm/prom"}`:    "8192",
		`cluster_metrics_num_active_n_ms{job="rm/prom"}`:            "1",
		`node_manager_metrics_available_gb{job="nm/prom"}`:          "8",
		`count(count by (__name__) ({job="nm/metrics"})) > bool 10`: "1",
	} {
		var got string
		await.Slowly(t, query+" is "+want, func() bool {
			got = ask(t, at, query)
			return got == want
		})
	}
}

// ask returns the value of a query's only series; "" if it has none.
func ask(t *testing.T, at, query string) string {
	t.Helper()
	resp, err := http.Get("http://" + at + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return "" // it starts
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal(b, &answer); err != nil || len(answer.Data.Result) != 1 {
		return ""
	}
	return fmt.Sprint(answer.Data.Result[0].Value[1])
}
