package javafs

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/conf/environ"
	"heddle/conf/javaservices"
	"heddle/hdfsadapter/jvm"
)

// ownHeapMB is the heap of a JVM beside a command, a task or a ResourceManager: a few buffers of files.
const ownHeapMB = 128

// folderPrefix begins the names of folders of ForProcess.
const folderPrefix = "heddle-java-"

// ForProcess returns the file systems of a configuration for a process that isn't a NodeManager: JVMs run with its account, in a folder of their own, which end removes.
func ForProcess(c *conf.Config, account Account, host string, log *logrus.Entry) (files *Files, end func()) {
	var made atomic.Bool
	folder := sync.OnceValues(func() (string, error) {
		made.Store(true)
		return NewFolder()
	})
	files = New(Config{
		Patience: c.Duration(PatienceKey), Properties: javaservices.Properties(c), Account: account, Host: host,
		Jar: func() (string, error) {
			dir, err := folder()
			if err != nil {
				return "", err
			}
			return jvm.WriteJar(dir)
		},
		JVM: func(string) (jvm.Config, error) {
			dir, err := folder()
			if err != nil {
				return jvm.Config{}, err
			}
			j, err := javaservices.Runtime(c, environ.Of(c.Dir(), os.LookupEnv))
			cfg := jvm.Of(c, j)
			cfg.JavaOptions = append([]string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}, j.Options...)
			cfg.HeapMB, cfg.Dir, cfg.Log, cfg.Quiet = ownHeapMB, dir, log, true
			return cfg, err
		},
	})
	return files, func() {
		files.Close()
		if !made.Load() {
			return
		}
		if dir, err := folder(); err == nil {
			_ = os.RemoveAll(dir) // it has a jar and a lock
		}
	}
}

// Usable says what lacks for files of a scheme: a Java, Hadoop's jars, or the class that the configuration names.
func Usable(c *conf.Config, scheme string) error {
	class, _ := c.Get("fs." + scheme + ".impl")
	if err := javaservices.Readable(c, environ.Of(c.Dir(), os.LookupEnv), class); err != nil {
		return fmt.Errorf("unsupported scheme %q: Heddle itself reads and writes hdfs and file, others by Java: %w", scheme, err)
	}
	return nil
}
