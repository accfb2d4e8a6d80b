// Package roots checks the files by which others would become root if they could replace them: the configuration of a daemon
// that root starts, the programs that it runs, and its secrets.
package roots

import (
	"errors"
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

// Strict is the key that turns all checks of files off.
const Strict = "heddle.files.strict-modes"

// Problems returns an error for each file by which others can replace the configuration of a daemon of root's, or a program that it runs: they
// are root then. A daemon with an account of its own may share its configuration with other accounts.
//
// With heddle.files.strict-modes = false no file is checked any more, whichever user started the daemon.
func Problems(c *conf.Config) error {
	if !c.Bool(Strict) {
		trust.Everybody()
		return nil
	}
	if os.Geteuid() != 0 {
		return nil
	}
	var all []error
	if dir := c.Dir(); dir != "" {
		if err := trust.Folder(dir, "*.xml"); err != nil {
			all = append(all, fmt.Errorf("the configuration folder of a daemon that runs as root: %w", err))
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
			all = append(all, fmt.Errorf("%s of a daemon that runs as root: %w", key, err))
		}
	}
	return errors.Join(all...)
}

// Warn warns if files aren't checked, or others can replace heddle's own program, which developers start as root from their folders.
func Warn(c *conf.Config, log *logrus.Entry) {
	if !c.Bool(Strict) {
		log.Warnf("%s is false: other users of this machine may be able to replace this daemon's files", Strict)
		return
	}
	if os.Geteuid() != 0 {
		return
	}
	if self, err := os.Executable(); err == nil {
		if err := trust.Check(self); err != nil {
			log.WithError(err).Warn("others can replace the program of this daemon, which runs as root")
		}
	}
}
