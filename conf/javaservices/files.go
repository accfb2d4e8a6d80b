package javaservices

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"heddle/conf"
	"heddle/conf/environ"
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
