package images

import (
	"archive/tar"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/integration/jvmtest"
	"heddle/internal/imagetest"
	"heddle/internal/needs"
	"heddle/internal/publicdir"
)

const (
	registryHash  = "$2a$04$hwpLyOfYzqAVdcd/N.xhGOZ3/umj1rUGhankS.0ZJVn0rMgj3QbwK"
	registryLogin = "YW5uOm9wZW4gc2VzYW1l" // ann:open sesame
)

// javaLayer has a Java of this machine's, at another place, so that what runs with it can't take the machine's.
func javaLayer(t *testing.T) imagetest.Layer {
	t.Helper()
	jre := t.TempDir() + "/jre"
	cmd := exec.Command(needs.Program(t, "jlink"), "--add-modules", "ALL-MODULE-PATH", "--strip-debug", "--no-header-files", "--no-man-pages", "--output", jre)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("jlink: %v: %s", err, out)
	}
	var entries []imagetest.Entry
	err := filepath.WalkDir(jre, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		entries = append(entries, imagetest.Entry{Header: tar.Header{Name: "opt/jre" + strings.TrimPrefix(path, jre), Mode: int64(info.Mode().Perm())}, Content: text})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return imagetest.Tar(t, entries...)
}

// javaImage has Java and Python.
func javaImage(t *testing.T) imagetest.Image {
	t.Helper()
	jvm, err := filepath.EvalSymlinks(needs.Program(t, "java"))
	if err != nil {
		t.Fatal(err)
	}
	libraries := filepath.Dir(filepath.Dir(jvm)) + "/lib/server/libjvm.so" // what it needs is what the image's needs
	modules, err := filepath.Glob(library + "/lib-dynload/*.so")           // what these need is what those of pythonLayer need
	if err != nil {
		t.Fatal(err)
	}
	programs := imagetest.Programs(t, append(modules, python, "java", libraries, "cat", "env", "sh", "ln", "mkdir", "ls", "cp", "chmod", "find", "readlink", "dirname", "sleep", "id", "grep")...)
	return imagetest.Image{Layers: []imagetest.Layer{programs, pythonLayer(t), javaLayer(t)}, Gzip: true, Env: []string{"JAVA_HOME=/opt/jre", "HADOOP_CONF_DIR=/etc/hadoop", "PATH=/opt/jre/bin:/bin"}}
}

// stock is a cluster with HDFS, and a registry with a login.
type stock struct {
	*hadooplab.Lab
	registry *imagetest.Registry
	image    string
	logins   string // on this machine
}

func startStock(t *testing.T, more map[string]string) *stock {
	t.Helper()
	needs.Program(t, "crun")
	dir := publicdir.New(t, "")
	s := &stock{registry: imagetest.StartRegistry(t, imagetest.RegistryOptions{User: "ann", Pass: "open sesame", Hash: registryHash})}
	i := javaImage(t)
	s.registry.Push(t, i, "team/java", "1")
	s.image, s.logins = s.registry.Host+"/team/java:1", dir+"/config.json"
	if err := os.WriteFile(s.logins, fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, s.registry.Host, registryLogin), 0o644); err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	conf := dir + "/conf" // of clients in images: it is filled when the cluster is there
	if err := os.Mkdir(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	site := map[string]string{
		"yarn.nodemanager.container-executor.class":                            "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor",
		"yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users": "false",
		"heddle.container.allowed-system-users":                                user,
		"heddle.nodemanager.images.registries":                                 s.registry.URL,
		"yarn.application.classpath":                                           "/etc/hadoop," + jvmtest.Hadoop(t) + "/*",
		"yarn.nodemanager.resource.memory-mb":                                  "8192",
		"yarn.app.mapreduce.am.resource.mb":                                    "768",
		runtime + "allowed-runtimes":                                           "default,docker,runc",
		runtime + "type":                                                       "docker",
		runtime + "docker.image-name":                                          s.image,
		runtime + "docker.default-ro-mounts":                                   cache + ":" + cache + "," + conf + ":/etc/hadoop",
		runtime + "runc.default-ro-mounts":                                     cache + ":" + cache + "," + conf + ":/etc/hadoop",
	}
	maps.Copy(site, more)
	mounts := ".allowed.ro-mounts=" + cache + "," + conf + "\n"
	cfg := "[docker]\nmodule.enabled=true\ndocker.trusted.registries=" + s.registry.Host + "\ndocker.allowed.networks=host\ndocker" + mounts + "[runc]\nmodule.enabled=true\nrunc" + mounts
	if err := os.Mkdir(dir+"/lab", 0o755); err != nil {
		t.Fatal(err)
	}
	s.Lab = hadooplab.Start(t, hadooplab.Options{
		Dir: dir + "/lab", DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: program(t, dir), Site: site, Files: map[string]string{"container-executor.cfg": cfg},
	})
	if err := os.CopyFS(conf, os.DirFS(s.Conf())); err != nil {
		t.Fatal(err)
	}
	squashed := dir + "/runc-root"
	i.Squashed(t, squashed, "team/java:1")
	for _, command := range []string{
		"-mkdir -p /tmp /user/" + user, "-chmod 1777 /tmp", "-put " + s.logins + " /user/" + user + "/config.json", "-chmod 600 /user/" + user + "/config.json",
		"-chown -R " + user + " /user/" + user, "-put " + squashed + " /runc-root",
	} {
		if out, err := s.Run(t.Context(), append([]string{"hdfs", "dfs"}, strings.Fields(command)...)...); err != nil {
			t.Fatal(command, out, err)
		}
	}
	return s
}

// variables are those by which a container asks for the image, the login being in HDFS.
func (s *stock) variables(kind string) []string {
	if kind == "runc" {
		return []string{"YARN_CONTAINER_RUNTIME_TYPE=runc", "YARN_CONTAINER_RUNTIME_RUNC_IMAGE=team/java:1"}
	}
	return []string{
		"YARN_CONTAINER_RUNTIME_TYPE=docker", "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE=" + s.image,
		"YARN_CONTAINER_RUNTIME_DOCKER_CLIENT_CONFIG=hdfs:///user/" + user + "/config.json",
	}
}

func (s *stock) run(t *testing.T, command ...string) string {
	t.Helper()
	r, err := s.Try(t.Context(), user, command...)
	if err != nil || r.Code != 0 {
		t.Fatalf("%v: exit code %d, %v\n%s\n%s", command, r.Code, err, r.Stdout, r.Stderr)
	}
	return r.Stdout + r.Stderr
}

// Unmodified jobs of Hadoop and Spark run in an image that the node pulls from a registry with a login, or finds on HDFS in the layout of YARN's
// runC runtime: MapReduce, streaming, distributed shell with its option for a login, and Spark with Python.
func TestStockJobsInImages(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 runs jobs of Hadoop and Spark in an image")
	}
	s := startStock(t, nil)
	for _, kind := range []string{"docker", "runc"} {
		t.Run("MapReduce/"+kind, func(t *testing.T) { s.mapReduce(t, kind) })
	}
	t.Run("distributed shell", s.distributedShell)
	t.Run("Spark", s.spark)
}

func (s *stock) mapReduce(t *testing.T, kind string) {
	var set []string
	for _, part := range []string{"mapreduce.map.env", "mapreduce.reduce.env", "yarn.app.mapreduce.am.env"} {
		set = append(set, "-D"+part+"="+strings.Join(s.variables(kind), ","))
	}
	examples, err := s.Jar("hadoop-mapreduce-examples")
	if err != nil {
		t.Fatal(err)
	}
	streaming, err := s.Jar("hadoop-streaming")
	if err != nil {
		t.Fatal(err)
	}
	if out := s.run(t, append(append([]string{"hadoop", "jar", examples, "pi"}, set...), "2", "10")...); !strings.Contains(out, "Estimated value of Pi is 3.") {
		t.Error(out)
	}
	in, out := "/user/"+user+"/in-"+kind, "/user/"+user+"/out-"+kind
	s.run(t, "hdfs", "dfs", "-put", "/etc/hostname", in)
	s.run(t, append(append([]string{"hadoop", "jar", streaming}, set...), "-input", in, "-output", out, "-mapper", "cat /of-image", "-reducer", "cat")...)
	if text := s.run(t, "hdfs", "dfs", "-cat", out+"/part-*"); !strings.Contains(text, "of the image") {
		t.Errorf("%q", text)
	}
}

func (s *stock) distributedShell(t *testing.T) {
	path, err := s.Jar("hadoop-yarn-applications-distributedshell")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"class", "org.apache.hadoop.yarn.applications.distributedshell.Client", "-jar", path, "-master_memory", "384", "-container_memory", "128", "-num_containers", "2",
		"-shell_command", "grep", "-shell_args", "-q image /of-image", "-docker_client_config", "file://" + s.logins,
	}
	if out := s.run(t, args...); !strings.Contains(out, "Application completed successfully") {
		t.Error(out)
	}
}

const sparkProgram = `
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("image").getOrCreate()
print("executors say", sorted(set(spark.sparkContext.parallelize(range(4), 4).map(lambda _: open("/of-image").read().strip()).collect())))
spark.stop()
`

func (s *stock) spark(t *testing.T) {
	home, err := hadooplab.Spark(t.Context(), hadooplab.SparkVersion)
	if err != nil {
		t.Fatal(err)
	}
	path := publicdir.New(t, "") + "/program.py"
	if err := os.WriteFile(path, []byte(sparkProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"--master", "yarn", "--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", "2", "--conf", "spark.yarn.jars=local:" + home + "/jars/*",
		"--conf", "spark.yarn.am.memory=512m", "--conf", "spark.ui.enabled=false", "--conf", "spark.log.structuredLogging.enabled=false",
	}
	for _, v := range s.variables("docker") {
		args = append(args, "--conf", "spark.executorEnv."+v, "--conf", "spark.yarn.appMasterEnv."+v)
	}
	cmd := exec.Command(filepath.Join(home, "bin", "spark-submit"), append(args, path)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "SPARK_HOME="+home, "PYTHONPATH="+filepath.Dir(home), "PYSPARK_PYTHON=python3", "HADOOP_CONF_DIR="+s.Conf(), "SPARK_LOCAL_IP=127.0.0.1", "HADOOP_USER_NAME="+user)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "executors say ['of the image']") {
		t.Errorf("%v\n%s", err, out)
	}
}
