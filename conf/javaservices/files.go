package javaservices

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"heddle/conf"
	"heddle/conf/environ"
	"heddle/conf/timeline"
)

// fileSystem is the class that all file systems extend.
const fileSystem = "org.apache.hadoop.fs.FileSystem"

// Readable says what lacks to read and write files by a class of Hadoop's file systems: a Java, Hadoop's jars, or the class. "" stands for the class that the
// file system's jar itself names.
func Readable(c *conf.Config, look func(string) (string, bool), class string) error {
	s, err := Runtime(c, look)
	if err != nil {
		return err
	}
	found := newFinder(s.ClassPath)
	if !found.has(fileSystem) {
		return fmt.Errorf("%s isn't on the class path %q: set HADOOP_HOME, yarn.application.classpath or %s", fileSystem, s.ClassPath, classPathKey)
	}
	if class != "" && !found.has(class) {
		return fmt.Errorf("the class %s isn't on the class path: name its jar in %s or HADOOP_CLASSPATH", class, classPathKey)
	}
	return nil
}

// writerKey names the class that stores what collectors of timeline version 2 get.
const writerKey = timeline.Prefix + "writer.class"

// usualWriter is Hadoop's default for it.
const usualWriter = "org.apache.hadoop.yarn.server.timelineservice.storage.HBaseTimelineWriterImpl"

// collecting reports whether timeline version 2 is on.
func collecting(c *conf.Config) bool {
	_, v2 := timeline.Versions(c)
	return v2
}

// Collecting says what lacks to write entities of timeline version 2: a Java, Hadoop's jars, or the class of the storage.
func Collecting(c *conf.Config, look func(string) (string, bool)) error {
	s, err := Runtime(c, look)
	if err != nil {
		return err
	}
	writer, _ := c.Get(writerKey)
	writer = cmp.Or(strings.TrimSpace(writer), usualWriter)
	if class, lacks := missing(s.ClassPath, Collector, writer); lacks {
		return fmt.Errorf("timeline version 2 needs the class %s, which isn't on the class path %q: set HADOOP_HOME, name its jar in %s or HADOOP_CLASSPATH, or set %s", class, s.ClassPath, classPathKey, writerKey)
	}
	return nil
}

// missing returns the first of some classes that isn't on a class path.
func missing(classPath string, classes ...string) (class string, lacks bool) {
	found := newFinder(classPath)
	for _, class := range classes {
		if !found.has(class) {
			return class, true
		}
	}
	return "", false
}

// LabelsClassKey names the class that says which labels nodes have.
const LabelsClassKey = "yarn.resourcemanager.node-labels.provider"

// labelsBase is the class that it extends.
const labelsBase = "org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsMappingProvider"

// Delegating says what lacks, where a class is to say which labels nodes have: the class, a Java, or Hadoop's jars.
func Delegating(c *conf.Config, look func(string) (string, bool)) error {
	if !c.Bool("yarn.node-labels.enabled") || c.Text("yarn.node-labels.configuration-type") != "delegated-centralized" {
		return nil
	}
	class, _ := c.Get(LabelsClassKey)
	if class = strings.TrimSpace(class); class == "" {
		return errors.New("with yarn.node-labels.configuration-type=delegated-centralized a class must say which labels " +
			"nodes have: name one that extends " + labelsBase)
	}
	s, err := Runtime(c, look)
	if err != nil {
		return err
	}
	if class, lacks := missing(s.ClassPath, labelsBase, class); lacks {
		return fmt.Errorf("the class %s isn't on the class path %q: set HADOOP_HOME, or name its jar in %s "+
			"or HADOOP_CLASSPATH", class, s.ClassPath, classPathKey)
	}
	return nil
}

// Properties returns the settings that no file of the configuration folder has, keys and values in turn.
func Properties(c *conf.Config) (out []string) {
	given := conf.Given(c)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		out = append(out, key, given[key])
	}
	return out
}

// Environment returns this process's variables, with the folder of the configuration.
func Environment(c *conf.Config) (env []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HADOOP_CONF_DIR=") {
			env = append(env, v)
		}
	}
	if dir, ok := environ.Of(c.Dir(), os.LookupEnv)("HADOOP_CONF_DIR"); ok {
		env = append(env, "HADOOP_CONF_DIR="+dir)
	}
	return env
}

var errNoJava = errors.New("no Java was found: set JAVA_HOME or put java on the PATH")
