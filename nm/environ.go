package nm

import "path/filepath"

// homes are variables that Hadoop's start scripts set to $HADOOP_HOME where nothing else is said.
var homes = map[string]bool{"HADOOP_COMMON_HOME": true, "HADOOP_HDFS_HOME": true, "HADOOP_YARN_HOME": true}

// environ looks up variables that containers inherit: this process's, and those that a NodeManager of Hadoop's would have
// from its start scripts. Class paths of applications begin with $HADOOP_CONF_DIR, which is the folder that the
// configuration came from, by whatever way it was given (dir; "" if there is none).
func environ(dir string, getenv func(string) (string, bool)) func(name string) (string, bool) {
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
