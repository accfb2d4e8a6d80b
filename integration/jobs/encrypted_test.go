package jobs

import (
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/ports"
)

//go:embed kms.xml
var kmsPOM []byte

// startKMS starts Hadoop's Key Management Server on a port, beside a lab.
func startKMS(t *testing.T, lab *hadooplab.Lab, port string) {
	t.Helper()
	jars, err := hadooplab.Maven(t.Context(), "kms", kmsPOM)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	site := `<configuration>
<property><name>hadoop.kms.key.provider.uri</name><value>jceks://file` + dir + `/keys.jceks</value></property>
<property><name>hadoop.kms.key.authorization.enable</name><value>false</value></property>
<property><name>hadoop.kms.http.host</name><value>127.0.0.1</value></property>
<property><name>hadoop.kms.http.port</name><value>` + port + `</value></property>
</configuration>`
	core := "<configuration><property><name>hadoop.tmp.dir</name><value>" + dir + "</value></property></configuration>"
	for name, text := range map[string]string{"kms-site.xml": site, "kms-acls.xml": "<configuration/>", "core-site.xml": core} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := lab.JavaCommand(dir+":"+filepath.Join(jars, "*"), "org.apache.hadoop.crypto.key.kms.server.KMSWebServer")
	cmd.Env = append(cmd.Env, "JAVA_TOOL_OPTIONS=-Dkms.config.dir="+dir+" -Dkms.log.dir="+dir+" -Dlog4j.configuration=file:"+filepath.Join(lab.Conf(), "log4j.properties"))
	kms, err := lab.BeginCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	await.Slowly(t, "the Key Management Server answers", func() bool {
		if said := kms.Stderr(); kms.Ended() || strings.Contains(said, `Exception in thread "main"`) {
			t.Fatalf("it hasn't started: %s", said)
		}
		r, err := http.Get("http://127.0.0.1:" + port + "/kms/v1/keys/names?user.name=root")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
}

// Files of an encryption zone are neither staged nor read ahead, as a node has no key. Tasks read them by HDFS's client, which asks the Key
// Management Server. Heddle's own client refuses them, and says why.
func TestEncryptionZone(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it takes half a minute
	t.Parallel()
	b, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	at := ports.Loopback(t, 1)[0]
	_, port, _ := strings.Cut(at, ":")
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: b, Site: map[string]string{
		"hadoop.security.key.provider.path":  "kms://http@" + at + "/kms",
		"heddle.nodemanager.warming.enabled": "true", "heddle.nodemanager.staging.enabled": "true", "heddle.nodemanager.staging.size-mb": "16",
		"heddle.probes.memory-mb": "512", "heddle.probes.vcores": "1",
	}})
	startKMS(t, lab, port)
	for _, command := range []string{"hadoop key create zone -size 128", "hdfs dfs -mkdir /zone", "hdfs crypto -createZone -keyName zone -path /zone"} {
		if _, err := lab.Run(t.Context(), strings.Fields(command)...); err != nil {
			t.Fatal(err)
		}
	}
	const secret, plain = "secret words of the zone\n", "plain words of no zone\n"
	lab.Put(t, "/zone/secret", secret)
	lab.Put(t, "/plain/first", plain)
	lab.Put(t, "/plain/file", plain)
	c := &cluster{t: t, binary: b, dir: t.TempDir(), conf: lab.Conf()}

	t.Run("Heddle's own client", func(t *testing.T) {
		fs := files(t, c.conf)
		if r, err := fs.Open(t.Context(), "/zone/secret"); err == nil {
			got, err := io.ReadAll(r)
			t.Errorf("%q, %v", got, err)
		} else if !strings.Contains(err.Error(), "/zone/secret") || !strings.Contains(err.Error(), "encryption zone") {
			t.Error(err)
		}
	})
	t.Run("staging", func(t *testing.T) {
		h := c.hold("", "/plain/first", "/zone/secret", "/plain/file")
		await.Slowly(t, "the file that is in no zone is in memory", func() bool {
			copies, err := filepath.Glob(filepath.Join(lab.Dir(), "nodemanager1", "local", "ramdisk", "out", "*"))
			return err == nil && len(copies) == 1
		})
		if err := os.WriteFile(h.proceed, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		// A slow NameNode may keep the other one from its copy, too.
		if code := h.code(); code != 0 || !slices.Contains(lines(h.stdout.String()), "/zone/secret: not in memory") {
			t.Errorf("%d: %s, %s", code, h.stdout.String(), h.stderr)
		}
	})
	t.Run("a task that reads by HDFS's client", func(t *testing.T) {
		hdfs := filepath.Join(t.TempDir(), "hdfs")
		if err := os.WriteFile(hdfs, []byte(lab.Script("hdfs")), 0o755); err != nil {
			t.Fatal(err)
		}
		x := c.xargs("--probes", "--stage", "-n1", hdfs, "dfs", "-cat")
		fmt.Fprintln(x.in, "/zone/secret")
		x.in.Close()
		if code := x.code(); code != 0 || x.stdout.String() != secret {
			t.Errorf("%d: %q, %s", code, x.stdout.String(), x.stderr)
		}
	})
	t.Run("MapReduce", func(t *testing.T) {
		jar, err := lab.Jar("hadoop-mapreduce-examples")
		if err != nil {
			t.Fatal(err)
		}
		before := hadooplab.ReadAhead(t, lab)
		for _, x := range []struct {
			in, out, want string
			ahead         bool
		}{{"/zone", "/out/zone", "secret", false}, {"/plain", "/out/plain", "plain", true}} {
			if _, err := lab.Run(t.Context(), "hadoop", "jar", jar, "wordcount", x.in, x.out); err != nil {
				t.Fatal(err)
			}
			got, err := lab.Run(t.Context(), "hdfs", "dfs", "-cat", x.out+"/part-*")
			if words := strings.Fields(got); err != nil || !slices.Contains(words, x.want) || !slices.Contains(words, "zone") {
				t.Errorf("%s: %q, %v", x.in, got, err)
			}
			after := hadooplab.ReadAhead(t, lab)
			if (after > before) != x.ahead {
				t.Errorf("%s: %v bytes were read ahead", x.in, after-before)
			}
			before = after
		}
	})
}
