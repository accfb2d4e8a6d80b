package javanode

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"

	"heddle/conf/environ"
	"heddle/conf/javaservices"
	"heddle/hdfsadapter/javafs"
	"heddle/hdfsadapter/jvm"
	"heddle/nm/cgroup"
)

// Names of the group of the groups of JVMs that read and write files, and the heap of each, MiB: some buffers of files.
const (
	filesGroups = "java-files"
	filesHeapMB = 256
)

// Files are the file systems of schemes that the node itself doesn't know, by Hadoop's FileSystem classes in JVMs beside the node. None runs before one is needed.
func (n *Node) Files() (files *javafs.Files, stop func()) {
	dir := folder(n.State)
	var last atomic.Int64
	var used atomic.Bool
	groups := sync.OnceValue(func() cgroup.Parent {
		used.Store(true)
		within, err := n.Groups.Below(filesGroups, cgroup.Limits{Shares: max(2, n.Cores)})
		if err != nil {
			n.Log.WithError(err).Warn("not guaranteed on this node: the memory of JVMs that read and write files is bounded by their options alone")
			return nil
		}
		return within
	})
	files = javafs.New(javafs.Config{
		Patience: n.Conf.Duration(javafs.PatienceKey), Properties: javaservices.Properties(n.Conf),
		Host: n.Host, Account: javafs.Account{
			Login: true, Keytab: "yarn.nodemanager.keytab",
			Principal: "yarn.nodemanager.principal",
		},
		Jar: func() (string, error) {
			if _, err := Folder(n.State); err != nil {
				return "", err
			}
			return jvm.WriteJar(dir)
		},
		JVM: func(user string) (jvm.Config, error) {
			cfg, err := n.readerConfig(dir)
			if err == nil {
				err = n.readsAs(&cfg, user)
			}
			if within := groups(); err == nil && within != nil {
				n.Confine(within, fmt.Sprintf("jvm-%d", last.Add(1)), cgroup.Limits{Shares: 2}, &cfg)
				cfg.Sweep() // an earlier life's
			}
			return cfg, err
		},
	})
	return files, func() {
		files.Close()
		if !used.Load() || groups() == nil {
			return
		}
		if err := groups().Close(); err != nil {
			n.Log.WithError(err).Warn("could not leave the group of JVMs that read and write files")
		}
	}
}

// readerConfig returns how a JVM that reads and writes files is started.
func (n *Node) readerConfig(dir string) (jvm.Config, error) {
	c := n.Conf
	j, err := javaservices.Runtime(c, environ.Of(c.Dir(), os.LookupEnv))
	cfg := n.JVM(j, dir)
	cfg.HeapMB = filesHeapMB
	return cfg, err
}

// readsAs has a JVM run as the user whose files it reads, where containers run as their users; for the NodeManager itself as the JVM of auxiliary services.
func (n *Node) readsAs(cfg *jvm.Config, user string) error {
	owner := n.Owner
	switch {
	case owner == nil:
		return nil
	case user == "":
		j, err := Account(n.Conf)
		cfg.User = j.Credential()
		return err
	}
	u, err := owner(user)
	cfg.User = u.Credential()
	cfg.Env = slices.DeleteFunc(cfg.Env, func(v string) bool { return !forReaders.MatchString(v) })
	return err
}

// forReaders matches variables that a JVM gets that runs as a user, who can read them: where Java and Hadoop are, and not what else the node's has.
var forReaders = regexp.MustCompile(`^(PATH|JAVA_HOME|LANG|LC_[A-Z]+|TZ|HADOOP_([A-Z]+_)?HOME|HADOOP_CONF_DIR|HADOOP_CLASSPATH|LD_LIBRARY_PATH)=`)
