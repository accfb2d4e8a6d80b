package jvmarchive

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/internal/userfiles"
	"heddle/nm/launch"
)

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		line, main string // main "": not for us
		options    string
	}{
		{`$JAVA_HOME/bin/java -Djava.io.tmpdir=$PWD/tmp -Xmx384m --add-opens=java.base/java.lang=ALL-UNNAMED org.apache.hadoop.mapred.YarnChild 127.0.0.1 4711 attempt_1_m_1 2 1>/l/stdout 2>/l/stderr `, "org.apache.hadoop.mapred.YarnChild", "-Djava.io.tmpdir=$PWD/tmp -Xmx384m --add-opens=java.base/java.lang=ALL-UNNAMED"},
		{`LD_LIBRARY_PATH=\"/native:$LD_LIBRARY_PATH\" $JAVA_HOME/bin/java -server -Xmx512m '-Dx=a b' -XX:OnOutOfMemoryError='kill %p' org.apache.spark.deploy.yarn.ApplicationMaster --class 'x'`, "org.apache.spark.deploy.yarn.ApplicationMaster", "-server -Xmx512m -Dx=a b -XX:OnOutOfMemoryError=kill %p"},
		{`java -server --add-modules=jdk.incubator.vector -Djdk.reflect.useDirectMethodHandle=false a.B`, "a.B", "-server --add-modules=jdk.incubator.vector -Djdk.reflect.useDirectMethodHandle=false"},
		{`exec java --add-opens java.base/java.nio=ALL-UNNAMED Main`, "Main", "--add-opens java.base/java.nio=ALL-UNNAMED"},
		{`java -jar x.jar`, "", ""},
		{`java -cp a.jar Main`, "", ""},
		{`java -javaagent:x.jar Main`, "", ""},
		{`java @args Main`, "", ""},
		{`java -Xshare:off Main`, "", ""},
		{`java -Xlog:class+load Main`, "", ""},
		{`java -version`, "", ""},
		{`java`, "", ""},
		{``, "", ""},
		{`CLASSPATH=x java Main`, "", ""},
		{`sleep 1; java Main`, "", ""},
		{`(java Main)`, "", ""},
		{`python java Main`, "", ""},
		{`java -Xmx1g 'org.x.Main;rm'`, "", ""},
	} {
		got, ok := parseCommand(c.line)
		if ok != (c.main != "") || ok && (got.main != c.main || strings.Join(got.options, " ") != c.options) {
			t.Errorf("%s: %+v, %v", c.line, got, ok)
		}
		if ok && !strings.HasSuffix(c.line[:got.after], "java") {
			t.Errorf("%s: options would be put behind %q", c.line, c.line[:got.after])
		}
	}
}

func TestLayout(t *testing.T) {
	for options, want := range map[string]string{
		"-Xmx384m -XX:+UseParallelGC":               "",
		"-Xmx32g":                                   "-XX:-UseCompressedOops",
		"-Xmx40000m":                                "-XX:-UseCompressedOops",
		"-Xmx31g -XX:ObjectAlignmentInBytes=16":     "-XX:ObjectAlignmentInBytes=16",
		"-XX:+UseZGC":                               "-XX:-UseCompressedOops",
		"-XX:+UseCompressedClassPointers -Xmx34T1":  "-XX:+UseCompressedClassPointers -XX:-UseCompressedOops",
		"-XX:OnOutOfMemoryError=kill -XX:-UseBar":   "",
		"-XX:-UseCompressedOops;x -Xmx":             "",
		"-Xmx99999999999999999999999999999999999kk": "",
	} {
		if got := strings.Join(layout(strings.Fields(options)), " "); got != want {
			t.Errorf("%s: %q, want %q", options, got, want)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	f.Add(`LD=\"x\" $JAVA_HOME/bin/java -Xmx1m 'a b' org.x.Main 1>/x`)
	f.Add(`exec java "`)
	f.Fuzz(func(t *testing.T, line string) {
		c, ok := parseCommand(line)
		if !ok {
			return
		}
		if c.after <= 0 || c.after > len(line) || !className.MatchString(c.main) {
			t.Errorf("%q: %+v", line, c)
		}
		layout(c.options)
	})
}

// What the store takes a value for is what a shell makes of it.
func TestEnvironment(t *testing.T) {
	env := environmentOf(&launch.Script{
		Inherit: []launch.Var{{Name: "JAVA_HOME", Value: "/jdk"}},
		Env: []launch.Var{
			{Name: "PWD", Value: "/work"},
			{Name: "A", Value: "$PWD:${JAVA_HOME}/x:$NONE:/lib/*"},
			{Name: "B", Value: "`id`"},
			{Name: "C", Value: "$B/x"},
			{Name: "D", Value: "${X:-y}"},
			{Name: "E", Value: `a\b`},
			{Name: "B", Value: "now"},
			{Name: "F", Value: "$B"},
		},
	})
	if env["A"] != "/work:/jdk/x::/lib/*" || env["F"] != "now" {
		t.Errorf("%v", env)
	}
	for _, name := range []string{"C", "D", "E"} {
		if env.knows(name) {
			t.Errorf("%s is taken for %q", name, env[name])
		}
	}
}

func writeJar(t testing.TB, path string, entries map[string]string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for name, content := range entries {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestClassPath(t *testing.T) {
	d := t.TempDir()
	write(t, d+"/conf/core-site.xml", "x")
	for _, j := range []string{"lib/a.jar", "lib/b.JAR", "users/u/filecache/1/p.jar", "filecache/7/s.jar", "filecache/8/r.jar", "users/u/appcache/app/filecache/2/job.jar/job.jar"} {
		write(t, d+"/"+j, "")
	}
	write(t, d+"/lib/readme.txt", "")
	f := folders{
		work: d + "/users/u/appcache/app/c1", links: map[string]string{
			"job.jar": d + "/users/u/appcache/app/filecache/2/job.jar", "libs/p.jar": d + "/users/u/filecache/1/p.jar",
			"__spark_libs__/s.jar": d + "/filecache/7/s.jar", "__spark_libs__/r.jar": d + "/filecache/8/r.jar", "__spark_libs__/x.txt": d + "/lib/readme.txt", "conf": d + "/conf",
		},
		app: []string{d + "/users/u/appcache"}, user: []string{d + "/users"},
	}
	lib := []string{d + "/lib/a.jar", d + "/lib/b.JAR"}
	for _, c := range []struct {
		path    string
		jars    []string
		aside   string
		rest    string
		lasting bool
	}{
		{f.work + ":" + d + "/conf:" + d + "/lib/*:job.jar/job.jar:job.jar/classes/:" + f.work + "/*", lib, f.work + ":" + d + "/conf", "job.jar/job.jar:job.jar/classes/:" + f.work + "/*", true},
		{d + "/lib/a.jar:" + d + "/none:" + d + "/lib/b.JAR:" + d + "/none:" + d + "/lib/a.jar2", lib, d + "/none", d + "/none:" + d + "/lib/a.jar2", true},
		{d + "/conf:" + d + "/lib/a.jar:" + d + "/conf:" + d + "/lib/b.JAR", lib[:1], d + "/conf", d + "/conf:" + d + "/lib/b.JAR", true},
		{f.work + "/libs/p.jar:" + d + "/conf", []string{d + "/users/u/filecache/1/p.jar"}, "", d + "/conf", false},
		{d + "/conf", nil, "", d + "/conf", true},
		{f.work + ":" + f.work + "/conf:" + f.work + "/__spark_libs__/*:" + f.work + "/conf/h", []string{d + "/filecache/7/s.jar", d + "/filecache/8/r.jar"}, f.work + ":" + f.work + "/conf", f.work + "/conf/h", true},
		{f.work + "/libs/*:" + f.work + "/none/*", []string{d + "/users/u/filecache/1/p.jar"}, "", f.work + "/none/*", false},
		{"job.jar/job.jar:" + d + "/lib/a.jar", nil, "", "job.jar/job.jar:" + d + "/lib/a.jar", true},
	} {
		cp, err := f.parse(c.path)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(cp.jars)
		if diff := cmp.Diff(c.jars, cp.jars); diff != "" || strings.Join(cp.aside, ":") != c.aside || strings.Join(cp.rest, ":") != c.rest || cp.lasting != c.lasting {
			t.Errorf("%s: %+v %s", c.path, cp, diff)
		}
	}
	if _, err := f.parse("/dev/null:" + d + "/lib/a.jar"); err == nil {
		t.Error("a device was taken for a jar")
	}
}

// A look-up by the changed class path finds what one by the old one would: a property over random folders and jars.
func TestMovingFoldersKeepsLookUps(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		base := fmt.Sprintf("%s/%d", root, n)
		name := rapid.SampledFrom([]string{"a.xml", "b.xml", "p/c.txt", "p/d.txt", "X.class", "META-INF/services/s"})
		var elements []string
		entries := map[string]map[string]string{} // by element: content by name
		for i, isJar := range rapid.SliceOfN(rapid.Bool(), 1, 6).Draw(rt, "elements") {
			files := map[string]string{}
			for _, f := range rapid.SliceOfN(name, 0, 3).Draw(rt, "names") {
				files[f] = fmt.Sprintf("%d:%s", i, f)
			}
			path := fmt.Sprintf("%s/e%d", base, i)
			if isJar {
				path += ".jar"
				if err := os.MkdirAll(base, 0o755); err != nil {
					rt.Fatal(err)
				}
				writeJar(t, path, files)
			} else {
				if err := os.MkdirAll(path, 0o755); err != nil {
					rt.Fatal(err)
				}
				for f, c := range files {
					write(t, path+"/"+f, c)
				}
			}
			elements, entries[path] = append(elements, path), files
		}
		f := folders{work: base + "/work"}
		cp, err := f.parse(strings.Join(elements, ":"))
		if err != nil {
			rt.Fatal(err)
		}
		x, err := indexJars(cp.jars)
		if err != nil {
			rt.Fatal(err)
		}
		c, err := coverOf(cp.dirs, &f, x)
		if err != nil {
			return // left as it is
		}
		entries["cover"] = map[string]string{}
		for n, b := range c.contents {
			entries["cover"][n] = string(b)
		}
		find := func(path []string, name string) string {
			for _, e := range path {
				if c, ok := entries[e][name]; ok {
					return c
				}
			}
			return ""
		}
		changed := strings.Split(cp.withCover("cover"), ":")
		for _, name := range []string{"a.xml", "b.xml", "p/c.txt", "p/d.txt", "X.class", "META-INF/services/s"} {
			if was, is := find(elements, name), find(changed, name); was != is {
				rt.Errorf("%s: %q instead of %q; %v became %v", name, is, was, elements, changed)
			}
		}
	})
}

func TestCoverOfLinks(t *testing.T) {
	d := t.TempDir()
	writeJar(t, d+"/a.jar", map[string]string{"log4j.properties": "jar", "dir/x": "jar", "deep/y": "jar"})
	write(t, d+"/cache/log4j.properties", "mine")
	write(t, d+"/cache/dir/x", "mine too")
	if err := os.MkdirAll(d+"/work", 0o755); err != nil {
		t.Fatal(err)
	}
	f := folders{work: d + "/work", links: map[string]string{"log4j.properties": d + "/cache/log4j.properties", "dir": d + "/cache/dir", "deep": d + "/none"}}
	x, err := indexJars([]string{d + "/a.jar"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := coverOf([]string{d + "/work"}, &f, x)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s", c.contents); got != "map[dir/x:mine too log4j.properties:mine]" {
		t.Error(got)
	}
	if again, err := c.jar(); err != nil {
		t.Error(err)
	} else if b, _ := c.jar(); string(b) != string(again) {
		t.Error("the same files make different jars")
	}
	// The same when the links are made.
	for name, target := range f.links {
		if err := os.Symlink(target, d+"/work/"+name); err != nil {
			t.Fatal(err)
		}
	}
	made, err := coverOf([]string{d + "/work"}, &f, x)
	if err != nil || made.hash() != c.hash() {
		t.Errorf("%v, %v", made, err)
	}
	if _, err := readFile("/dev/null"); err == nil {
		t.Error("a device was read")
	}
}

func TestClasses(t *testing.T) {
	list := "# comment\njava/lang/Object id: 0\njava/lang/String\n@lambda-proxy a b c\nx/Own id: 5 super: 0 source: /x.jar\njdk/proxy2/$Proxy1\n\ncut/off"
	got, err := readClasses(strings.NewReader(list))
	if want := []string{"java/lang/Object", "java/lang/String", "@lambda-proxy a b c"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	folder, err := userfiles.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for i, c := range []struct{ all, fresh int }{{3, 3}, {3, 0}} {
		if all, fresh, err := mergeClasses(folder, "list", got); all != c.all || fresh != c.fresh || err != nil {
			t.Errorf("%d: %d, %d, %v", i, all, fresh, err)
		}
	}
	if all, fresh, err := mergeClasses(folder, "list", []string{"new", "java/lang/Object"}); all != 4 || fresh != 1 || err != nil {
		t.Errorf("%d, %d, %v", all, fresh, err)
	}
}

func FuzzReadClasses(f *testing.F) {
	f.Add("a/B id: 1\n@lambda-form-invoker x\n")
	f.Fuzz(func(t *testing.T, text string) {
		classes, _ := readClasses(strings.NewReader(text))
		for _, c := range classes {
			if c == "" || strings.ContainsAny(c, "\n\x00") {
				t.Errorf("%q", c)
			}
		}
	})
}
