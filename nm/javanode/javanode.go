// Package javanode says how the JVMs of a node run: as which account, in which group of processes, with which settings and variables.
package javanode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/javaservices"
	"heddle/hdfsadapter/jvm"
	"heddle/internal/statedir"
	"heddle/internal/trust"
	"heddle/internal/userfiles"
	"heddle/nm/cgroup"
	"heddle/nm/proc"
	"heddle/nm/runas"
	"heddle/yarn/account"
)

// Node is the node that JVMs run beside.
type Node struct {
	Conf        *conf.Config
	State       string // the beginning of the names of its folders
	Host        string
	Cores       float64
	LimitMemory bool // of processes, by groups
	// Owner returns the user that containers of a submitting user run as; nil: this process's own.
	Owner  func(user string) (*userfiles.User, error)
	Groups cgroup.Handler
	Log    *logrus.Entry
}

// Folder makes the folder of the JVMs of a node with this state, which no other user can replace.
func Folder(state string) (dir string, err error) {
	dir = folder(state)
	if err := statedir.MakePassable(dir); err != nil {
		return "", err
	}
	return dir, trust.Check(dir)
}

func folder(state string) string { return state + "-java" }

// JVM returns how a JVM of the node is started in a folder that is run as s says: as this process's user, and in no group yet.
func (n *Node) JVM(s javaservices.Settings, dir string) jvm.Config {
	cfg := jvm.Of(n.Conf, s)
	cfg.Dir, cfg.Log, cfg.Confine = dir, n.Log, proc.NotSpared
	return cfg
}

// Account returns the account of JVMs that work for the node, and not for one user, where containers run as their users.
func Account(c *conf.Config) (*userfiles.User, error) {
	const key = "heddle.nodemanager.java.user"
	name := cmp.Or(c.Text(key), "yarn")
	fail := func(err error) (*userfiles.User, error) {
		return nil, fmt.Errorf("a JVM doesn't run as root where containers run as users, and it can't run as %q: %w: name an account in %s", name, err, key)
	}
	a, err := account.System.Lookup(name)
	if err != nil {
		return fail(err)
	}
	rules, _, err := runas.Read(c)
	if err != nil {
		return nil, err
	}
	switch {
	case a.UID == 0:
		return fail(errors.New("it is root"))
	case rules.Check(name, a.UID) == nil:
		return fail(errors.New("containers may run as it"))
	}
	return &userfiles.User{UID: a.UID, GID: a.GID, Groups: slices.Clone(a.Groups)}, nil
}

// Confine has a JVM run in a group of that name.
func (n *Node) Confine(within cgroup.Parent, name string, limits cgroup.Limits, cfg *jvm.Config) {
	if n.LimitMemory {
		limits.Memory = int64(jvm.MemoryMB(cfg.HeapMB)) << 20
		limits.Swap = limits.Memory
	}
	cfg.Sweep = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		g, err := within.Open(name)
		if err != nil {
			return // nothing is left
		}
		if err = g.Kill(ctx); err == nil {
			err = g.Destroy(ctx)
		}
		if err != nil {
			n.Log.WithError(err).Warn("could not end what a JVM has left")
		}
	}
	cfg.Confine = func(pid int) error {
		g, err := within.Create(name, limits)
		if err != nil {
			return err
		}
		return errors.Join(proc.NotSpared(pid), g.Add(pid))
	}
}
