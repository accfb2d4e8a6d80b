package javaservices

import (
	"archive/zip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"heddle/conf"
)

// machine is a folder with a Java and Hadoop's jars, as far as they are looked at.
type machine struct {
	dir  string
	vars map[string]string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir()}
	m.vars = map[string]string{"JAVA_HOME": filepath.Join(m.dir, "java"), "HADOOP_COMMON_HOME": m.dir, "HADOOP_CONF_DIR": m.dir}
	m.file(t, "java/bin/java", nil)
	m.jar(t, "share/hadoop/common/api.jar", base)
	return m
}

func (m *machine) look(name string) (string, bool) { v, ok := m.vars[name]; return v, ok }

func (m *machine) file(t *testing.T, name string, text []byte) {
	t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) jar(t *testing.T, name, class string) {
	t.Helper()
	m.file(t, name, nil)
	f, err := os.Create(filepath.Join(m.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	if _, err := z.Create(strings.ReplaceAll(class, ".", "/") + ".class"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

const spark = "org.apache.spark.network.yarn.YarnShuffleService"

func load(t *testing.T, set ...string) *conf.Config {
	t.Helper()
	c, err := conf.Load(conf.Options{Overrides: set})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestServicesThatCanRun(t *testing.T) {
	m := newMachine(t)
	m.jar(t, "spark/shuffle.jar", spark)
	m.file(t, "classes/com/example/Other.class", nil)
	c := load(t, "yarn.nodemanager.aux-services=mapreduce_shuffle,spark_shuffle,other,far,timeline_collector",
		servicesKey+".timeline_collector.class="+Collector,
		servicesKey+".spark_shuffle.class="+spark, servicesKey+".spark_shuffle.classpath="+m.dir+"/spark/*",
		servicesKey+".spark_shuffle.system-classes=org.slf4j., java.",
		servicesKey+".other.class=com.example.Other", servicesKey+".far.class=com.example.Far", servicesKey+".far.remote-classpath=hdfs:///far.jar",
		classPathKey+"=$HADOOP_COMMON_HOME/share/hadoop/common/*:$NOSUCH/x:"+m.dir+"/classes", "heddle.nodemanager.java.options=-Da=b -Dc=d")
	s, err := Of(c, m.look)
	if err != nil {
		t.Fatal(err)
	}
	want := []Service{
		{Name: "spark_shuffle", Class: spark, ClassPath: m.dir + "/spark/*", System: []string{"org.slf4j.", "java."}},
		{Name: "other", Class: "com.example.Other"},
		{Name: "far", Class: "com.example.Far", Remote: "hdfs:///far.jar"},
	}
	if !reflect.DeepEqual(s.Services, want) || len(s.Left) != 1 || !strings.HasPrefix(s.Left[0], "timeline_collector") {
		t.Errorf("%+v, left out %q", s.Services, s.Left)
	}
	if path := m.dir + "/share/hadoop/common/*:" + m.dir + "/classes"; s.ClassPath != path || s.Java != m.dir+"/java/bin/java" || len(s.Options) != 2 {
		t.Errorf("%q, %q, %q", s.ClassPath, s.Java, s.Options)
	}
}

// Where no service is a Java class, nothing is looked for.
func TestNoServices(t *testing.T) {
	s, err := Of(load(t, "yarn.nodemanager.aux-services=mapreduce_shuffle"), func(string) (string, bool) { t.Error("it looks"); return "", false })
	if err != nil || len(s.Services) > 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestServicesThatCannotRun(t *testing.T) {
	for name, test := range map[string]struct {
		set    []string
		change func(m *machine)
		want   string
		key    string
	}{
		"no class": {[]string{servicesKey + "=spark_shuffle"}, nil, "auxiliary service spark_shuffle has no class: set yarn.nodemanager.aux-services.spark_shuffle.class", servicesKey},
		"a name":   {[]string{servicesKey + "=7up", servicesKey + ".7up.class=x"}, nil, `the name "7up"`, servicesKey},
		"not there": {
			[]string{servicesKey + "=spark_shuffle", servicesKey + ".spark_shuffle.class=" + spark},
			nil,
			"the class " + spark + " isn't in the class path of auxiliary services: name its jar in yarn.nodemanager.aux-services.spark_shuffle.classpath", servicesKey + ".spark_shuffle.class",
		},
		"not in its own class path": {
			[]string{servicesKey + "=spark_shuffle", servicesKey + ".spark_shuffle.class=" + spark, servicesKey + ".spark_shuffle.classpath=/nosuch.jar"},
			nil,
			`isn't in yarn.nodemanager.aux-services.spark_shuffle.classpath, "/nosuch.jar"`, servicesKey + ".spark_shuffle.class",
		},
		"no Java": {
			[]string{servicesKey + "=a", servicesKey + ".a.class=b"}, func(m *machine) { m.vars["JAVA_HOME"] = "/nosuch" }, "JAVA_HOME has no Java", servicesKey,
		},
		"no Hadoop": {
			[]string{servicesKey + "=a", servicesKey + ".a.class=b"}, func(m *machine) { delete(m.vars, "HADOOP_COMMON_HOME") }, "set HADOOP_HOME for heddle nm", servicesKey,
		},
	} {
		m := newMachine(t)
		if test.change != nil {
			test.change(m)
		}
		_, err := Of(load(t, test.set...), m.look)
		problems := conf.Problems(err)
		if err == nil || len(problems) != 1 || !strings.Contains(problems[0].Message, test.want) || problems[0].Key != test.key {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// JVMs get what the command line sets, secrets too, and no more: files they read themselves. Secrets were hidden from them as from people.
func TestPropertiesThatNoFileHas(t *testing.T) {
	dir := t.TempDir()
	site := "<configuration><property><name>fs.s3a.endpoint</name><value>s3</value></property></configuration>"
	if err := os.WriteFile(dir+"/core-site.xml", []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := conf.Load(conf.Options{Dir: dir, Overrides: []string{"fs.s3a.secret.key=mine", "fs.s3a.access.key=${fs.s3a.endpoint}-key"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Properties(c), []string{"fs.s3a.access.key", "s3-key", "fs.s3a.secret.key", "mine"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
