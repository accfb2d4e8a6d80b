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
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/ports"
)

var appID = regexp.MustCompile(`application_\d+_\d+`)

//go:embed testdata/s3a.xml
var s3aPOM []byte

// objects is an S3 server.
type objects struct {
	t   *testing.T
	url string
}

// startObjects starts a server of objects (moto, from PyPI).
func startObjects(t *testing.T) *objects {
	t.Helper()
	site, err := hadooplab.PyPI(t.Context(), "moto-5.2.5", "moto[server,s3]==5.2.5")
	if err != nil {
		t.Fatal(err)
	}
	free, release, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-m", "moto.server", "-H", "127.0.0.1", "-p", fmt.Sprint(free[0]))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+site)
	release()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	o := &objects{t, fmt.Sprintf("http://127.0.0.1:%d", free[0])}
	await.Slowly(t, "the server of objects listens", func() bool {
		c, err := net.Dial("tcp", strings.TrimPrefix(o.url, "http://"))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return o
}

func (o *objects) do(method, name string, body []byte) string {
	o.t.Helper()
	req, err := http.NewRequestWithContext(o.t.Context(), method, o.url+name, bytes.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=loom/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0") // which the server doesn't check
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		o.t.Fatalf("%s %s: %s %s %v", method, name, resp.Status, b, err)
	}
	return string(b)
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

// A file system that Heddle knows nothing of, against a server of it: files of containers, input and output of MapReduce's and our jobs, and aggregated logs, which our
// command, the pages' REST and Hadoop's own command read.
func TestS3A(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	s3, err := hadooplab.Maven(t.Context(), "s3a-"+hadooplab.Version, s3aPOM)
	if err != nil {
		t.Fatal(err)
	}
	lib, err := hadooplab.Jars(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store := startObjects(t)
	store.do(http.MethodPut, "/data", nil)
	store.do(http.MethodPut, "/history", nil)
	words := strings.Repeat("warp weft warp heddle\n", 1000)
	store.do(http.MethodPut, "/data/in/a%20b.txt", []byte(words))
	store.do(http.MethodPut, "/data/in/more.txt", []byte("shuttle\n"))
	store.do(http.MethodPut, "/data/bin/split.sh", []byte("#!/bin/sh\necho 'split in the container' >&2\ntr -s ' ' '\\n'\n"))
	o := options
	o.HistoryServer = false
	o.Site = maps.Clone(options.Site)
	path := filepath.Join(lib, "*") + ":" + filepath.Join(s3, "*")
	maps.Copy(o.Site, map[string]string{
		"fs.s3a.endpoint": store.url, "fs.s3a.endpoint.region": "us-east-1", "fs.s3a.path.style.access": "true", "fs.s3a.connection.ssl.enabled": "false",
		"fs.s3a.access.key": "loom", "fs.s3a.secret.key": "warpandweft", "heddle.nodemanager.java.class-path": path,
		"yarn.application.classpath": "$HADOOP_CONF_DIR:" + path, "mapreduce.application.classpath": "$HADOOP_CONF_DIR:" + path,
		"yarn.nodemanager.remote-app-log-dir": "s3a://history/logs",
	})
	l := hadooplab.Start(t, o)
	said := heddle(t, l, "mr", "-input", "s3a://data/in", "-output", "s3a://data/ours", "-files", "s3a://data/bin/split.sh", "-mapper", "sh split.sh", "-reducer", "uniq -c")
	if got := strings.Fields(store.do(http.MethodGet, "/data/ours/part-00000", nil)); strings.Join(got, " ") != "1000 heddle 1 shuttle 2000 warp 1000 weft" {
		t.Errorf("heddle mr: %q", got)
	}
	store.do(http.MethodGet, "/data/ours/_SUCCESS", nil)
	app := appID.FindString(said)
	logsOf(t, l, s3, app, "split in the container")

	jarOfExamples, err := l.Jar("hadoop-mapreduce-examples")
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.BeginCommand(l.JavaCommand(filepath.Join(s3, "*"), "org.apache.hadoop.util.RunJar", jarOfExamples, "wordcount", "s3a://data/in", "s3a://data/stock"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Wait(t.Context())
	if err != nil || r.Code != 0 {
		t.Fatalf("%d, %v\n%s", r.Code, err, r.Stderr)
	}
	if got := strings.Fields(store.do(http.MethodGet, "/data/stock/part-r-00000", nil)); strings.Join(got, " ") != "heddle 1000 shuttle 1 warp 2000 weft 1000" {
		t.Errorf("wordcount: %q", got)
	}
	logsOf(t, l, s3, appID.FindString(r.Stderr), "MRAppMaster")
}

// logsOf reads the logs of an application that is over in three ways, each of which has to have a text.
func logsOf(t *testing.T, l *hadooplab.Lab, s3, app, text string) {
	t.Helper()
	await.Slowly(t, "the logs are aggregated", func() bool {
		cmd := exec.CommandContext(t.Context(), options.Heddle, "logs", "-applicationId", app)
		cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf())
		out, err := cmd.Output()
		return err == nil && strings.Contains(string(out), text) && strings.Contains(string(out), "AGGREGATED")
	})
	c, err := l.BeginCommand(l.JavaCommand(filepath.Join(s3, "*"), "org.apache.hadoop.yarn.client.cli.LogsCLI", "-applicationId", app))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Wait(t.Context()); err != nil || r.Code != 0 || !strings.Contains(r.Stdout, text) {
		t.Errorf("yarn logs: %d, %v\n%.500s\n%s", r.Code, err, r.Stdout, r.Stderr)
	}
	await.Slowly(t, "REST lists them", func() bool { // it says when to try again while Java starts
		var list map[string]any
		err := l.Get(t.Context(), "rm-http", "/ws/v1/heddle/apps/"+app+"/logs", &list)
		return err == nil && strings.Contains(fmt.Sprint(list), "localhost_")
	})
}
