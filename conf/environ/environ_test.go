package environ

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/conf"
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
			map[string]string{"HADOOP_COMMON_HOME": "/opt/hadoop", "HADOOP_YARN_HOME": "/opt/hadoop", "HADOOP_MAPRED_HOME": "/opt/hadoop", "HADOOP_HDFS_HOME": "/opt/hdfs", "HADOOP_HOME": "/opt/hadoop", "JAVA_HOME": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			look := Of(c.dir, own(c.vars))
			for variable, want := range c.want {
				if got, ok := look(variable); got != want || ok != (want != "") {
					t.Errorf("%s is %q, %t, want %q", variable, got, ok, want)
				}
			}
		})
	}
}

// With the folder of Hadoop's manual every MapReduce task failed on a node whose environment lacked HADOOP_MAPRED_HOME, and nothing said so.
func TestUnsetVariablesOfClassPathsAreWarnedOf(t *testing.T) {
	c, err := conf.Load(conf.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c.Set("mapreduce.application.classpath", "$HADOOP_MAPRED_HOME/share/hadoop/mapreduce/*:$HADOOP_MAPRED_HOME/lib/*:{{TEZ_HOME}}/*:$PWD/*")
	c.Set("yarn.nodemanager.env-whitelist", "JAVA_HOME,HADOOP_MAPRED_HOME,TEZ_HOME")
	look := func(vars ...string) func(string) (string, bool) {
		return Of("", func(name string) (string, bool) { return name, slices.Contains(vars, name) })
	}
	for _, x := range []struct{ set, want []string }{
		{nil, []string{"HADOOP_MAPRED_HOME", "TEZ_HOME"}},
		{[]string{"HADOOP_HOME"}, []string{"TEZ_HOME"}},
		{[]string{"HADOOP_MAPRED_HOME", "TEZ_HOME"}, nil},
	} {
		got := Unset(c, look(x.set...))
		if len(got) != len(x.want) {
			t.Errorf("with %v: %v", x.set, got)
			continue
		}
		for i, p := range got {
			if p.Severity != conf.Warning || p.Key != "mapreduce.application.classpath" || !strings.Contains(p.Message, "uses "+x.want[i]+",") {
				t.Errorf("with %v: %v, want a warning of %s", x.set, p, x.want[i])
			}
		}
	}
	c.Set("yarn.nodemanager.env-whitelist", "JAVA_HOME")
	if got := Unset(c, look()); len(got) > 0 {
		t.Errorf("of what containers don't inherit: %v", got)
	}
}
