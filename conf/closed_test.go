package conf

import (
	"net"
	"strings"
	"testing"
)

// Nobody has said that strangers may come, nor that root is to run their commands.
func TestDefaultsServeThisMachineOnly(t *testing.T) {
	c, err := Load(Options{})
	if err != nil {
		t.Fatal(err)
	}
	said := c.closeUp(0)
	for _, key := range rmAddressKeys(c) {
		a, err := c.RMListen(key, "rm1")
		if err != nil || !isLoopback(a.Host) {
			t.Errorf("%s listens on %v, %v", key, a, err)
		}
	}
	for _, key := range []string{"yarn.nodemanager.address", "yarn.nodemanager.webapp.address"} {
		if a := c.NMListen(key); !isLoopback(a.Host) {
			t.Errorf("%s listens on %v", key, a)
		}
	}
	if got := c.Text("yarn.nodemanager.container-executor.class"); got != linuxExecutor {
		t.Errorf("root's containers run by %s", got)
	}
	if got := c.Text("yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user"); !c.Bool("yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users") || got == "root" {
		t.Errorf("they run as %s", got)
	}
	if strings.Contains(said, "\n") || !strings.Contains(said, "-D") {
		t.Errorf("it says %q", said)
	}
	if r := c.Validate(); !r.OK() {
		t.Error(r)
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// What somebody has said stays.
func TestWhatIsSetStaysOpen(t *testing.T) {
	c, err := Load(Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Set("yarn.resourcemanager.bind-host", "0.0.0.0")
	c.Set("yarn.nodemanager.webapp.address", "0.0.0.0:8042")
	if said := c.closeUp(1000); said != "" {
		t.Errorf("it says %q", said)
	}
	if a, err := c.RMListen("yarn.resourcemanager.address", "rm1"); err != nil || a.Host != "0.0.0.0" {
		t.Errorf("%v, %v", a, err)
	}
	if got := c.Text("yarn.nodemanager.container-executor.class"); got == linuxExecutor {
		t.Error("somebody else than root can't have containers run as others")
	}
	dir, err := Load(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if said := dir.closeUp(0); said != "" {
		t.Errorf("of a configuration it says %q", said)
	}
}
