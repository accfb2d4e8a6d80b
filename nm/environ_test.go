package nm

import (
	"path/filepath"
	"testing"
)

func TestEnviron(t *testing.T) {
	own := func(vars map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	}
	here, err := filepath.Abs("conf")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir  string
		vars map[string]string
		want map[string]string // "" is unset
	}{
		"a folder by a flag": {"/etc/hadoop", map[string]string{"LANG": "C"}, map[string]string{"HADOOP_CONF_DIR": "/etc/hadoop", "LANG": "C", "HADOOP_HOME": ""}},
		"a flag wins":        {"/etc/hadoop", map[string]string{"HADOOP_CONF_DIR": "/other"}, map[string]string{"HADOOP_CONF_DIR": "/etc/hadoop"}},
		"a relative folder":  {"conf", nil, map[string]string{"HADOOP_CONF_DIR": here}},
		"no folder":          {"", nil, map[string]string{"HADOOP_CONF_DIR": "", "HADOOP_COMMON_HOME": ""}},
		"homes": {
			"",
			map[string]string{"HADOOP_HOME": "/opt/hadoop", "HADOOP_HDFS_HOME": "/opt/hdfs"},
			map[string]string{"HADOOP_COMMON_HOME": "/opt/hadoop", "HADOOP_YARN_HOME": "/opt/hadoop", "HADOOP_HDFS_HOME": "/opt/hdfs", "HADOOP_HOME": "/opt/hadoop", "JAVA_HOME": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			look := environ(c.dir, own(c.vars))
			for variable, want := range c.want {
				if got, ok := look(variable); got != want || ok != (want != "") {
					t.Errorf("%s is %q, %t, want %q", variable, got, ok, want)
				}
			}
		})
	}
}
