package parity

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"heddle/integration/minicluster"
	"heddle/rm"
)

const examples = "../../docs/examples/prometheus/"

// Prometheus takes the alert rules and the dashboard's queries of the examples, and each figure and label in them is one that a ResourceManager has.
func TestAlertsAndDashboard(t *testing.T) {
	promtool := filepath.Join(debian(t), "usr/bin/promtool")
	queries := append(alerts(t), dashboard(t)...)
	type rule struct {
		Record string
		Expr   string
	}
	var rules []rule
	for i, q := range queries {
		rules = append(rules, rule{fmt.Sprintf("q%d", i), q})
	}
	all, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "queries", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "queries.yml")
	if err := os.WriteFile(file, all, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{examples + "alerts.yml", file} {
		if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", f).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", f, err, out)
		}
	}
	c := minicluster.Start(t, 1, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.Conf.Text(rm.WebAddress)+"/metrics", nil)
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
	page := string(body)
	for _, q := range queries {
		for _, m := range regexp.MustCompile(`(heddle_\w+)(?:\{(\w+)=(~?)"([^"]+)"\})?`).FindAllStringSubmatch(q, -1) {
			values := []string{m[4]}
			if m[3] != "" {
				values = strings.Split(m[4], "|")
			}
			for _, v := range values {
				want := "\n" + m[1]
				if m[2] != "" {
					want += fmt.Sprintf("{%s=%q}", m[2], v)
				}
				if !strings.Contains(page, want) {
					t.Errorf("%s: there is no %s", q, want)
				}
			}
		}
	}
}

// alerts are the queries of the alert rules, each of which says what is wrong, and how bad it is.
func alerts(t *testing.T) (queries []string) {
	t.Helper()
	b, err := os.ReadFile(examples + "alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(b, &file); err != nil || len(file.Groups) == 0 {
		t.Fatal(err)
	}
	for _, r := range file.Groups[0].Rules {
		if r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
			t.Errorf("%s has no summary or severity", r.Alert)
		}
		queries = append(queries, r.Expr)
	}
	return queries
}

func dashboard(t *testing.T) (queries []string) {
	t.Helper()
	b, err := os.ReadFile(examples + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &d); err != nil || len(d.Panels) < 8 {
		t.Fatal(len(d.Panels), err)
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}
