package nm

import (
	"os"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/nm/runas"
)

func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may run containers as others")
	}
	const lce = "yarn.nodemanager.linux-container-executor.nonsecure-mode."
	owner := func(set ...string) func(string) string {
		t.Helper()
		c, err := conf.Load(conf.Options{Overrides: append([]string{"yarn.nodemanager.container-executor.class=" + linuxExecutor}, set...)})
		if err != nil {
			t.Fatal(err)
		}
		f, _, _, err := ownerOf(c, newAccounts())
		if err != nil {
			t.Fatal(err)
		}
		return func(user string) string {
			o, err := f(user)
			if err != nil {
				return err.Error()
			}
			if o.UID == 0 {
				t.Errorf("containers of %s run as root", user)
			}
			return ""
		}
	}
	all := owner(lce+"limit-users=false", runas.AllowedKey+"=daemon")
	one := owner(lce+"limit-users=true", lce+"local-user=daemon", runas.AllowedKey+"=daemon")
	strict := owner(lce + "limit-users=false")
	for _, c := range []struct {
		owner      func(string) string
		user, want string
	}{
		{all, "daemon", ""},
		{all, "root", "Running as root is not allowed"},
		{strict, "daemon", "Requested user daemon is not whitelisted and has id 1,which is below the minimum allowed 1000"},
		{strict, "nobody", ""},
		{all, "bin", "below the minimum allowed"},
		{all, "no-such-user", "no such user"},
		{all, "../daemon", "it must match"},
		{all, "", "it must match"},
		{one, "no-such-user", ""},
		{one, "a b", "it must match"},
	} {
		if got := c.owner(c.user); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q: %q, want %q", c.user, got, c.want)
		}
	}
	c, err := conf.Load(conf.Options{Overrides: []string{"yarn.nodemanager.container-executor.class=" + linuxExecutor, lce + "user-pattern=["}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := ownerOf(c, newAccounts()); err == nil || !strings.Contains(err.Error(), "user-pattern") {
		t.Errorf("a broken pattern: %v", err)
	}
}

func TestWhetherTheKernelLimitsMemory(t *testing.T) {
	const check, enabled, enforced = "yarn.nodemanager.pmem-check-enabled=", "yarn.nodemanager.resource.memory.enabled=", "yarn.nodemanager.resource.memory.enforced="
	for _, c := range []struct {
		set  []string
		want bool
	}{
		{nil, true},
		{[]string{check + "false"}, false},
		{[]string{enabled + "false"}, false},
		{[]string{enabled + "true", check + "false"}, true},
		{[]string{enabled + "true", enforced + "false"}, false},
		{[]string{enforced + "false"}, false},
	} {
		config, err := conf.Load(conf.Options{Overrides: c.set})
		if err != nil {
			t.Fatal(err)
		}
		if got := limitsMemory(config); got != c.want {
			t.Errorf("%q: %v", c.set, got)
		}
	}
}
