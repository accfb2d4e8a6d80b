// Package environ knows the variables that containers inherit from a NodeManager.
package environ

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"heddle/conf"
)

// homes are variables that Hadoop's start scripts set to $HADOOP_HOME where nothing else is said (hadoop-functions.sh).
var homes = map[string]bool{"HADOOP_COMMON_HOME": true, "HADOOP_HDFS_HOME": true, "HADOOP_YARN_HOME": true, "HADOOP_MAPRED_HOME": true}

// Of looks up variables that containers inherit from a NodeManager: this process's, and those that a NodeManager of Hadoop's would have
// from its start scripts. Class paths of applications begin with $HADOOP_CONF_DIR, which is the folder that the
// configuration came from, by whatever way it was given (dir; "" if there is none).
func Of(dir string, getenv func(string) (string, bool)) func(name string) (string, bool) {
	if abs, err := filepath.Abs(dir); err == nil && dir != "" {
		dir = abs
	}
	return func(name string) (string, bool) {
		if name == "HADOOP_CONF_DIR" && dir != "" {
			return dir, true
		}
		value, ok := getenv(name)
		if !ok && homes[name] {
			return getenv("HADOOP_HOME")
		}
		return value, ok
	}
}

// classPaths are the settings whose variables a container's launch script expands.
var classPaths = []string{"mapreduce.application.classpath", "yarn.application.classpath"}

var classPathVariable = regexp.MustCompile(`\$\{?([A-Za-z_][A-Za-z0-9_]*)|\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}`)

// Unset warns of variables that configured class paths use and containers should inherit, and that aren't set: the classes
// would not be found, and each container would fail. look is what Of returns.
func Unset(c *conf.Config, look func(name string) (string, bool)) (all []conf.Problem) {
	const whitelist = "yarn.nodemanager.env-whitelist"
	inherited := conf.ParseList(c.Text(whitelist))
	for _, key := range classPaths {
		at, _ := c.Where(key)
		if !c.IsSet(key) {
			continue
		}
		value, _ := c.Get(key) // the registry lacks MapReduce's
		var missing []string
		for _, m := range classPathVariable.FindAllStringSubmatch(value, -1) {
			name := m[1] + m[2]
			if _, set := look(name); !set && slices.Contains(inherited, name) && !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
		for _, name := range missing {
			message := fmt.Sprintf("uses %s, which containers inherit from the NodeManager (%s), and which is not set in this environment: set it for heddle nm (docs/user-guide.md)", name, whitelist)
			if homes[name] {
				message += ", or HADOOP_HOME"
			}
			all = append(all, conf.Problem{Severity: conf.Warning, Key: key, Message: message, Source: at})
		}
	}
	return all
}
