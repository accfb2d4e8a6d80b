// Package verdict decides whether daemons start with a configuration. The daemons ask it when they start, and heddle conf check without
// starting anything, so that both say the same.
package verdict

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"heddle/cmd/heddle/internal/roots"
	"heddle/conf"
	"heddle/conf/environ"
	"heddle/conf/losses"
	"heddle/conf/protection"
	"heddle/conf/secure"
	"heddle/nm"
	"heddle/rm"
	"heddle/rm/queue"
)

// Daemons are the roles that check looks at if it isn't told which.
const Daemons = conf.ResourceManager | conf.NodeManager

// ForAny makes warnings of what is wrong for the user of this process, or for this machine, and may be right where the daemons will run.
func ForAny(r *conf.Report) {
	for i := range r.Problems {
		if p := &r.Problems[i]; p.Severity == conf.Error && p.Starter {
			p.Severity, p.Roles = conf.Warning, 0
			p.Message = "if this user starts it on this machine: " + p.Message
		}
	}
	r.Add(nil, nil) // sorts them
}

// Of reads a configuration and returns it, closed up (conf.CloseUp) if it has no folder, with all that is wrong with it for some roles. id is
// that of the ResourceManager, or "". The configuration is of use only if the report has no error. closed says what was closed.
func Of(o conf.Options, roles conf.Role, id string) (c *conf.Config, closed string, r conf.Report) {
	c, r = conf.CheckWith(o, roles)
	for _, p := range r.Problems {
		if p.Severity == conf.Error && p.Key == "" {
			return c, "", r // a file can't be read; its contents are unknown
		}
	}
	r.Add(protection.Problems(c, roles), nil)
	r.Add(secure.Exposed(c, roles), nil)
	starter(&r, roles, roots.Problems(c))
	closed = c.CloseUp()
	if roles&conf.ResourceManager != 0 {
		addManager(&r, c, id)
	}
	if roles&conf.NodeManager != 0 {
		r.Add(nm.Check(c), nil)
		r.Add(environ.Unset(c, environ.Of(c.Dir(), os.LookupEnv)), nil)
	}
	if roles&conf.Witness != 0 {
		r.Add(rm.CheckWitness(c), nil)
	}
	return c, closed, r
}

// addManager adds what concerns a ResourceManager.
func addManager(r *conf.Report, c *conf.Config, id string) {
	if id == "" && c.HAEnabled() && len(c.RMIDs()) > 0 {
		if _, err := rm.OwnID(c); err != nil {
			r.Add([]conf.Problem{{Severity: conf.Error, Message: err.Error(), Roles: conf.ResourceManager, Starter: true}}, nil)
			id = c.RMIDs()[0]
		}
	}
	r.Add(rm.Check(c, id), nil)
	r.Add(losses.Of(c), nil)
	r.Add(unread(c), nil)
}

// unread warns of a file of queues that can't be read, and isn't, because it is another scheduler's.
func unread(c *conf.Config) (all []conf.Problem) {
	kind, err := queue.KindOf(c)
	if err != nil || c.Dir() == "" {
		return nil
	}
	for name, reads := range map[string]bool{queue.CapacityFile: kind == queue.Capacity, "fair-scheduler.xml": kind == queue.Fair} {
		path := filepath.Join(c.Dir(), name)
		if reads {
			continue
		}
		if _, err := conf.ReadXML(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = append(all, conf.Problem{Severity: conf.Warning, Message: fmt.Sprintf("%s (the scheduler %s doesn't read it)", strings.TrimSpace(err.Error()), c.Text(queue.SchedulerClass))})
		}
	}
	return all
}

// starter adds problems of the user who starts a daemon.
func starter(r *conf.Report, roles conf.Role, err error) {
	for _, p := range conf.Problems(err) {
		p.Starter, p.Roles = true, roles
		r.Add([]conf.Problem{p}, nil)
	}
}
