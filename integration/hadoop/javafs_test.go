package hadoop

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/integration/jvmtest"
	"heddle/internal/await"
	"heddle/internal/deathsig"
	"heddle/internal/ports"
)

var appID = regexp.MustCompile(`application_\d+_\d+`)

var (
	//go:embed testdata/s3a.xml
	s3aPOM []byte
	//go:embed testdata/abfs.xml
	abfsPOM []byte
	//go:embed testdata/gs.xml
	gsPOM []byte
)

// store is a file system that Heddle reads and writes by Java alone.
type store struct {
	data, history string            // URIs of folders that exist
	path          string            // class path of its classes, beside Hadoop's
	site          map[string]string // what these need
	files         map[string]string // and what of it has files of its own, by their names
}

// serve starts a server that listens on this machine, on a port that cmd receives.
func serve(t *testing.T, command func(port int) *exec.Cmd) (address string) {
	t.Helper()
	free, release, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(free[0])
	release()
	runs(t, cmd)
	address = fmt.Sprintf("127.0.0.1:%d", free[0])
	listens(t, address)
	return address
}

// runs starts a command that ends with the test, and with its process.
func runs(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	deathsig.Set(cmd.SysProcAttr)
	started := make(chan error)
	go func() { // the kernel counts the thread that has started it, which so stays
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(started)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-started
	})
}

// listens waits until a server of objects listens.
func listens(t *testing.T, address string) {
	t.Helper()
	await.Slowly(t, "the server at "+address+" listens", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// request makes something on a server.
func request(t *testing.T, method, url, body string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s %v", method, url, resp.Status, b, err)
	}
}

func jars(t *testing.T, name string, pom []byte) string {
	t.Helper()
	dir, err := hadooplab.Maven(t.Context(), name, pom)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "*")
}

// startS3 starts a server of Amazon's objects (moto, from PyPI).
func startS3(t *testing.T) store {
	t.Helper()
	site, err := hadooplab.PyPI(t.Context(), "moto-5.2.5", "moto[server,s3]==5.2.5")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + serve(t, func(port int) *exec.Cmd {
		cmd := exec.Command("python3", "-m", "moto.server", "-H", "127.0.0.1", "-p", fmt.Sprint(port))
		cmd.Env = append(os.Environ(), "PYTHONPATH="+site)
		return cmd
	})
	for _, bucket := range []string{"data", "history"} {
		request(t, http.MethodPut, url+"/"+bucket, "", http.Header{ // which the server doesn't check
			"Authorization": {"AWS4-HMAC-SHA256 Credential=loom/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"},
		})
	}
	return store{"s3a://data", "s3a://history", jars(t, "s3a-"+hadooplab.Version, s3aPOM), map[string]string{
		"fs.s3a.endpoint": url, "fs.s3a.endpoint.region": "us-east-1", "fs.s3a.path.style.access": "true", "fs.s3a.connection.ssl.enabled": "false",
		"fs.s3a.access.key": "loom", "fs.s3a.secret.key": "warpandweft",
	}, nil}
}

// startAzure starts a server of Microsoft's blobs (Azurite, from npm), with its only account and the key that is in its documents.
func startAzure(t *testing.T) store {
	t.Helper()
	modules, err := hadooplab.NPM(t.Context(), "azurite-3.37.0", "azurite@3.37.0")
	if err != nil {
		t.Fatal(err)
	}
	address := serve(t, func(port int) *exec.Cmd {
		return exec.Command("node", filepath.Join(modules, "node_modules/azurite/dist/src/blob/main.js"), "--blobPort", fmt.Sprint(port),
			"--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--loose", "--silent")
	})
	const account = "devstoreaccount1.dfs.core.windows.net"
	return store{"abfs://data@" + account, "abfs://history@" + account, jars(t, "abfs-"+hadooplab.Version, abfsPOM), map[string]string{
		"fs.azure.abfs.endpoint": address, "fs.azure.always.use.https": "false", "fs.azure.account.hns.enabled": "false", "fs.azure.fns.account.service.type": "BLOB",
		"fs.azure.createRemoteFileSystemDuringInitialization": "true",
		"fs.azure.account.key." + account:                     "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
	}, nil}
}

// startGoogle starts a server of Google's objects (fake-gcs-server, a Go module).
func startGoogle(t *testing.T) store {
	t.Helper()
	bin, err := hadooplab.GoTool(t.Context(), "fake-gcs-server-1.52.2", "github.com/fsouza/fake-gcs-server@v1.52.2")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + serve(t, func(port int) *exec.Cmd {
		address := fmt.Sprintf("127.0.0.1:%d", port)
		return exec.Command(filepath.Join(bin, "fake-gcs-server"), "-scheme", "http", "-host", "127.0.0.1", "-port", fmt.Sprint(port), "-backend", "memory", "-public-host", address)
	})
	for _, bucket := range []string{"data", "history"} {
		request(t, http.MethodPost, url+"/storage/v1/b?project=loom", fmt.Sprintf(`{"name":%q}`, bucket), http.Header{"Content-Type": {"application/json"}})
	}
	return store{"gs://data", "gs://history", jars(t, "gs-3.0.4", gsPOM), map[string]string{
		"fs.gs.storage.root.url": url, "fs.gs.auth.type": "UNAUTHENTICATED", "fs.gs.project.id": "loom",
		"fs.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem", "fs.AbstractFileSystem.gs.impl": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFS",
	}, nil}
}

// ownStore is a file system of a class that the test has written.
func ownStore(t *testing.T) store {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{"data", "history"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return store{"loom://" + root + "/data", "loom://" + root + "/history", jvmtest.Compile(t, "testdata/Loom.java"), map[string]string{
		"fs.loom.impl": "heddle.test.Loom", "fs.AbstractFileSystem.loom.impl": "heddle.test.Loom$Context",
	}, nil}
}

// heddle runs a command of ours to its end.
func heddle(t *testing.T, l *hadooplab.Lab, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), options.Heddle, args...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("heddle %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
	return string(out) + said.String()
}

// java runs a class of Hadoop's to its end.
func (s store) java(t *testing.T, l *hadooplab.Lab, class string, args ...string) hadooplab.Result {
	t.Helper()
	c, err := l.BeginCommand(l.JavaCommand(s.path, class, args...))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Wait(t.Context())
	if err != nil || r.Code != 0 {
		t.Fatalf("%s %s: %d, %v\n%.500s\n%s", class, strings.Join(args, " "), r.Code, err, r.Stdout, r.Stderr)
	}
	return r
}

// fs runs a command of Hadoop's file system shell.
func (s store) fs(t *testing.T, l *hadooplab.Lab, args ...string) string {
	t.Helper()
	return s.java(t, l, "org.apache.hadoop.fs.FsShell", args...).Stdout
}

// A file system that Heddle knows nothing of, against a server of it: files of containers, input and output of MapReduce's and our jobs, and aggregated logs, which our
// command, the pages' REST and Hadoop's own command read.
func TestFileSystemsOfJava(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	for name, start := range map[string]func(*testing.T) store{"s3a": startS3, "abfs": startAzure, "gs": startGoogle, "o3fs": startOzone, "own": ownStore} {
		t.Run(name, func(t *testing.T) { playJobs(t, start(t)) })
	}
}

func playJobs(t *testing.T, s store) {
	lib, err := hadooplab.Jars(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := options
	o.HistoryServer = false
	o.Site, o.Files = maps.Clone(options.Site), s.files
	path := filepath.Join(lib, "*") + ":" + s.path
	maps.Copy(o.Site, s.site)
	maps.Copy(o.Site, map[string]string{
		"heddle.nodemanager.java.class-path": path, "yarn.application.classpath": "$HADOOP_CONF_DIR:" + path, "mapreduce.application.classpath": "$HADOOP_CONF_DIR:" + path,
		"yarn.nodemanager.remote-app-log-dir": s.history + "/logs",
	})
	l := hadooplab.Start(t, o)
	local := t.TempDir()
	for name, text := range map[string]string{
		"in/a b.txt": strings.Repeat("warp weft warp heddle\n", 1000), "in/more.txt": "shuttle\n",
		"bin/split.sh": "#!/bin/sh\necho 'split in the container' >&2\ntr -s ' ' '\\n'\n",
	} {
		file := filepath.Join(local, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.fs(t, l, "-put", local+"/in", local+"/bin", s.data+"/")
	said := heddle(t, l, "mr", "-input", s.data+"/in", "-output", s.data+"/ours", "-files", s.data+"/bin/split.sh", "-mapper", "sh split.sh", "-reducer", "uniq -c")
	if got := strings.Fields(s.fs(t, l, "-cat", s.data+"/ours/part-00000", s.data+"/ours/_SUCCESS")); strings.Join(got, " ") != "1000 heddle 1 shuttle 2000 warp 1000 weft" {
		t.Errorf("heddle mr: %q", got)
	}
	logsOf(t, l, s, appID.FindString(said), "split in the container")

	jarOfExamples, err := l.Jar("hadoop-mapreduce-examples")
	if err != nil {
		t.Fatal(err)
	}
	r := s.java(t, l, "org.apache.hadoop.util.RunJar", jarOfExamples, "wordcount", s.data+"/in", s.data+"/stock")
	if got := strings.Fields(s.fs(t, l, "-cat", s.data+"/stock/part-r-00000")); strings.Join(got, " ") != "heddle 1000 shuttle 1 warp 2000 weft 1000" {
		t.Errorf("wordcount: %q", got)
	}
	logsOf(t, l, s, appID.FindString(r.Stderr), "MRAppMaster")
}

// logsOf reads the logs of an application that is over in three ways, each of which has to have a text.
func logsOf(t *testing.T, l *hadooplab.Lab, s store, app, text string) {
	t.Helper()
	await.Slowly(t, "the logs are aggregated", func() bool {
		cmd := exec.CommandContext(t.Context(), options.Heddle, "logs", "-applicationId", app)
		cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
		out, err := cmd.Output()
		return err == nil && strings.Contains(string(out), text) && strings.Contains(string(out), "AGGREGATED")
	})
	if r := s.java(t, l, "org.apache.hadoop.yarn.client.cli.LogsCLI", "-applicationId", app); !strings.Contains(r.Stdout, text) {
		t.Errorf("yarn logs: %.500s\n%s", r.Stdout, r.Stderr)
	}
	await.Slowly(t, "REST lists them", func() bool { // it says when to try again while Java starts
		var list map[string]any
		err := l.Get(t.Context(), "rm-http", "/ws/v1/heddle/apps/"+app+"/logs", &list)
		return err == nil && strings.Contains(fmt.Sprint(list), "localhost_")
	})
}
