package rest

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	shared "heddle/integration/cluster"
	"heddle/internal/await"
	"heddle/internal/ports"
)

// cluster is a ResourceManager and a NodeManager in a process of their own, with one of the recorded configurations.
type cluster struct {
	conf   string
	rm, nm string // URLs
}

type property struct {
	Name  string `xml:"name"`
	Value string `xml:"value"`
}

type properties struct {
	XMLName  xml.Name   `xml:"configuration"`
	Property []property `xml:"property"`
}

func (p *properties) set(name, value string) {
	for i := range p.Property {
		if p.Property[i].Name == name {
			p.Property[i].Value = value
			return
		}
	}
	p.Property = append(p.Property, property{name, value})
}

// start starts the cluster and waits until its node has joined.
func start(t *testing.T, heddle, dir, profile string) cluster {
	t.Helper()
	c := cluster{conf: filepath.Join(dir, "conf")}
	site := c.configure(t, dir, profile)
	shared.Standalone(t, heddle, dir, append(os.Environ(), "HADOOP_CONF_DIR="+c.conf), "--conf", c.conf)
	c.rm, c.nm = "http://"+site["yarn.resourcemanager.webapp.address"], "http://"+site["yarn.nodemanager.webapp.address"]
	await.Slowly(t, "the node has joined", func() bool { return c.ready(t.Context()) })
	return c
}

func (c *cluster) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.rm+"/ws/v1/cluster/nodes?user.name=root&states=RUNNING", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return err == nil && strings.Contains(string(b), `"state":"RUNNING"`)
}

// configure writes the base configuration with the profile's on top, and returns what it sets.
func (c *cluster) configure(t *testing.T, dir, profile string) map[string]string {
	t.Helper()
	if err := os.MkdirAll(c.conf, 0o755); err != nil {
		t.Fatal(err)
	}
	free, release, err := ports.Free(8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	at := func(i int) string { return fmt.Sprintf("localhost:%d", free[i]) }
	site := properties{Property: []property{
		{"heddle.state.dir", filepath.Join(dir, "state")},
		{"yarn.resourcemanager.address", at(0)},
		{"yarn.resourcemanager.scheduler.address", at(1)},
		{"yarn.resourcemanager.resource-tracker.address", at(2)},
		{"yarn.resourcemanager.admin.address", at(3)},
		{"yarn.resourcemanager.webapp.address", at(4)},
		{"yarn.nodemanager.hostname", "localhost"},
		{"yarn.nodemanager.address", at(5)},
		{"yarn.nodemanager.webapp.address", at(6)},
		{"yarn.nodemanager.localizer.address", at(7)},
		{"yarn.nodemanager.resource.memory-mb", "8192"},
		{"heddle.container.run-as-root", "true"}, // where root runs the tests
		{"yarn.nodemanager.resource.cpu-vcores", "8"},
		{"yarn.nodemanager.local-dirs", filepath.Join(dir, "local")},
		{"yarn.nodemanager.log-dirs", filepath.Join(dir, "logs")},
		{"yarn.nodemanager.vmem-check-enabled", "false"},
		{"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "99"},
		{"yarn.log-aggregation-enable", "true"},
		{"yarn.nodemanager.remote-app-log-dir", filepath.Join(dir, "app-logs")},
	}}
	core := properties{Property: []property{
		{"fs.defaultFS", "file:///"},
		{"hadoop.tmp.dir", filepath.Join(dir, "tmp")},
		{"hadoop.http.staticuser.user", "root"},
		{"hadoop.proxyuser.root.hosts", "*"},
		{"hadoop.proxyuser.root.groups", "*"},
	}}
	overlay := os.DirFS(filepath.Join("testdata", "conf", profile))
	names, err := fs.Glob(overlay, "*.xml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no configuration for %s: %v", profile, err)
	}
	for _, name := range names {
		b, err := fs.ReadFile(overlay, name)
		if err != nil {
			t.Fatal(err)
		}
		base := map[string]*properties{"yarn-site.xml": &site, "core-site.xml": &core}[name]
		if base == nil {
			write(t, filepath.Join(c.conf, name), b)
			continue
		}
		var more properties
		if err := xml.Unmarshal(b, &more); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range more.Property {
			if p.Value == "http-secret" {
				p.Value = filepath.Join(c.conf, "http-secret")
			}
			base.set(p.Name, p.Value)
		}
	}
	secret := make([]byte, 24)
	_, _ = rand.Read(secret) // never fails
	write(t, filepath.Join(c.conf, "http-secret"), []byte(base64.StdEncoding.EncodeToString(secret)))
	out := map[string]string{}
	for name, p := range map[string]properties{"yarn-site.xml": site, "core-site.xml": core} {
		b, err := xml.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(c.conf, name), b)
		for _, p := range p.Property {
			out[p.Name] = p.Value
		}
	}
	return out
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
