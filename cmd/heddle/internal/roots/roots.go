// Package roots checks the files by which others would become root if they could replace them: the configuration of a daemon
// that root starts, the programs that it runs, and its secrets.
package roots

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/trust"
)

// files returns the keys of programs that a daemon runs, and of secrets.
func files(c *conf.Config) []string {
	keys := []string{
		"net.topology.script.file.name", "heddle.raft.tls.cert", "heddle.raft.tls.key", "heddle.raft.tls.ca", "hadoop.http.authentication.signature.secret.file",
	}
	const health = "yarn.nodemanager.health-checker."
	for _, name := range c.Strings(health + "scripts") {
		keys = append(keys, health+name+".path")
	}
	return keys
}

// Check returns an error if others can replace the configuration of a daemon of root's, or a program that it runs: they are
// root then. A daemon with an account of its own may share its configuration with other accounts. Check only warns of
// heddle's own program, which developers start as root from their folders.
//
// With heddle.files.strict-modes = false no file is checked any more, by whomever the daemon was started.
func Check(c *conf.Config, log *logrus.Entry) error {
	const strict = "heddle.files.strict-modes"
	if !c.Bool(strict) {
		trust.Everybody()
		log.Warnf("%s is false: other users of this machine may be able to replace this daemon's files", strict)
		return nil
	}
	if os.Geteuid() != 0 {
		return nil
	}
	if dir := c.Dir(); dir != "" {
		if err := trust.Folder(dir, "*.xml"); err != nil {
			return fmt.Errorf("the configuration folder of a daemon that runs as root: %w", err)
		}
	}
	for _, key := range files(c) {
		path := c.Text(key)
		if path == "" || !c.IsSet(key) {
			continue
		}
		if found, err := exec.LookPath(path); err == nil {
			path = found
		}
		if err := trust.Check(path); err != nil {
			return fmt.Errorf("%s of a daemon that runs as root: %w", key, err)
		}
	}
	if self, err := os.Executable(); err == nil {
		if err := trust.Check(self); err != nil {
			log.WithError(err).Warn("Others can replace the program of this daemon, which runs as root")
		}
	}
	return nil
}
