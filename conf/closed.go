package conf

import (
	"os"
	"strings"
)

// A daemon without a configuration serves this machine alone, and as root it runs no containers as root: no setting
// says which users may connect.

const thisMachine = "localhost"

// CloseUp makes the defaults of a daemon without a configuration folder safe. The daemon listens on the loopback, and
// as root it runs containers as yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user. Keys that are set,
// for example on the command line, keep their values. what says in one line what was closed and how to open it; it is
// "" if nothing was closed.
func (c *Config) CloseUp() (what string) { return c.closeUp(os.Geteuid()) }

func (c *Config) closeUp(uid int) string {
	if c.dir != "" {
		return ""
	}
	var did []string
	for _, role := range []string{"resourcemanager", "nodemanager"} {
		if c.says(role) {
			continue
		}
		c.Set("yarn."+role+".hostname", thisMachine)
		did = append(did, "yarn."+role+".hostname = "+thisMachine)
	}
	const executor = "yarn.nodemanager.container-executor.class"
	if uid == 0 && !c.IsSet(executor) {
		c.Set(executor, linuxExecutor)
		did = append(did, executor+" = "+linuxExecutor)
	}
	if len(did) == 0 {
		return ""
	}
	return "There is no configuration folder, so this daemon serves only this machine, and root runs no containers as itself: " + strings.Join(did, ", ") +
		". Set these keys (-D key=value, or yarn-site.xml in --conf) to open it; docs/security.md says what protects an open cluster"
}

// says reports whether a key names where a role listens.
func (c *Config) says(role string) bool {
	prefix := "yarn." + role + "."
	for name := range c.WithPrefix(prefix) { // this includes defaults
		if !c.IsSet(prefix + name) {
			continue
		}
		if name == "bind-host" || name == "hostname" || strings.HasPrefix(name, "hostname.") || name == "address" || strings.HasPrefix(name, "address.") ||
			strings.Contains(name, ".address") {
			return true
		}
	}
	return false
}
