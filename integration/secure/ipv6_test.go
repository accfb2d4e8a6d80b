package secure

import (
	"maps"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// loopback returns this machine's own address of IPv6, or that of IPv4 if it has none.
func loopback() string {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return "127.0.0.1"
	}
	_ = l.Close()
	return "::1"
}

// freeAt returns a free port of an address, with the address.
func freeAt(t *testing.T, ip string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A cluster whose ports are all at an IPv6 address, which the name service has no name for: _HOST is the address, node and clients expect it, and jobs run with all encrypted. Pages take tickets there, too.
func TestIPv6(t *testing.T) {
	ip := loopback()
	t.Logf("at %s", ip)
	r := newRealm(t, 10*time.Hour)
	of := func(name string) string { return name + "@" + r.Realm }
	host := ip
	if names, err := net.LookupAddr(ip); err == nil && len(names) > 0 {
		host = strings.TrimSuffix(names[0], ".")
	}
	keys := r.Keytab("ipv6.keytab", of("rm/"+host), of("nm/"+host), of("HTTP/"+ip), of("HTTP/localhost"))
	pages, node := freeAt(t, ip), freeAt(t, ip)
	site := maps.Clone(r.site)
	maps.Copy(site, spnego(r, keys))
	maps.Copy(site, map[string]string{
		"hadoop.rpc.protection":                         "privacy",
		"hadoop.http.authentication.kerberos.principal": "*",
		"yarn.resourcemanager.keytab":                   keys,
		"yarn.resourcemanager.address":                  freeAt(t, ip),
		"yarn.resourcemanager.scheduler.address":        freeAt(t, ip),
		"yarn.resourcemanager.resource-tracker.address": freeAt(t, ip),
		"yarn.resourcemanager.admin.address":            freeAt(t, ip),
		"yarn.resourcemanager.webapp.address":           pages,
		"yarn.nodemanager.principal":                    of("nm/" + host),
		"yarn.nodemanager.keytab":                       keys,
		"yarn.nodemanager.address":                      net.JoinHostPort(ip, "0"),
		"yarn.nodemanager.localizer.address":            net.JoinHostPort(ip, "0"),
		"yarn.nodemanager.webapp.address":               node,
		"heddle.container.run-as-root":                  "true",
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99",
	})
	l := hadooplab.Start(t, hadooplab.Options{Heddle: heddle, Site: site, Krb5: r.Conf})
	for _, role := range []string{"rm", "nm"} {
		cmd := exec.Command(heddle, role)
		cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
		daemon, err := l.BeginCommand(cmd)
		if err != nil {
			t.Fatal(err)
		}
		daemon.EndWith(t)
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("%s: %s", role, daemon.Stderr())
			}
		})
	}
	await.Slowly(t, "the node runs", func() bool {
		out, err := command(t, l, "node", "-list")
		return err == nil && strings.Contains(out, "RUNNING")
	})
	items := l.Dir() + "/items"
	write(t, items, "an item\n")
	if out, err := command(t, l, "xargs", "-a", items, "echo", "ran"); err != nil || !strings.Contains(out, "ran an item") {
		t.Errorf("xargs: %v\n%s", err, out)
	}
	if out, err := command(t, l, "mr", "-input", items, "-output", items+"-out", "-mapper", "cat", "-reducer", "cat"); err != nil {
		t.Errorf("mr: %v\n%s", err, out)
	}
	for _, at := range []string{pages, node} {
		_, port, _ := net.SplitHostPort(at)
		out, err := exec.CommandContext(t.Context(), "curl", "-sS", "--negotiate", "-u", ":", "--connect-to", "::"+at, "http://localhost:"+port+"/ws/v1/").CombinedOutput()
		if err != nil || strings.Contains(string(out), "Authentication required") {
			t.Errorf("with a ticket: %v\n%s", err, out)
		}
		if out, err := exec.CommandContext(t.Context(), "curl", "-sS", "http://"+at+"/ws/v1/").CombinedOutput(); err != nil || !strings.Contains(string(out), "Authentication required") {
			t.Errorf("without a ticket: %v\n%s", err, out)
		}
	}
}
