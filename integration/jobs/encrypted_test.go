package jobs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/hdfsadapter"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/ports"
)

// Files of an encryption zone are neither staged nor read ahead: their text stays where readers asked for it. Tasks read them by HDFS's client, and Heddle's own client
// reads and writes them; both ask the Key Management Server.
func TestEncryptionZone(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it takes half a minute
	t.Parallel()
	b, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	at := ports.Loopback(t, 1)[0]
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: b, Site: map[string]string{
		"hadoop.security.key.provider.path":  "kms://http@" + at + "/kms",
		"heddle.nodemanager.warming.enabled": "true", "heddle.nodemanager.staging.enabled": "true", "heddle.nodemanager.staging.size-mb": "16",
		"heddle.probes.memory-mb": "512", "heddle.probes.vcores": "1",
	}})
	hadooplab.StartKMS(t, lab, at, nil, nil)
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
		if got, err := whole(t, fs, "/zone/secret"); err != nil || got != secret {
			t.Errorf("%q, %v", got, err)
		}
		text := bytes.Repeat([]byte("a line of a file that spans blocks\n"), 100_000)
		w, err := fs.Create(t.Context(), "/zone/of/ours", hdfsadapter.CreateOptions{BlockSize: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for part := range slices.Chunk(text, 77_777) {
			if _, err := w.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if w, err = fs.Append(t.Context(), "/zone/of/ours"); err == nil {
			if _, err = w.Write([]byte("the end")); err == nil {
				err = w.Close()
			}
		}
		want := string(text) + "the end"
		if got, err2 := whole(t, fs, "/zone/of/ours"); err != nil || err2 != nil || got != want {
			t.Errorf("%d bytes of %d, %v, %v", len(got), len(want), err, err2)
		}
		if got, err := lab.Run(t.Context(), "hdfs", "dfs", "-cat", "/zone/of/ours"); err != nil || got != want {
			t.Errorf("HDFS's client reads %d bytes of %d, %v", len(got), len(want), err)
		}
		if raw, err := lab.Run(t.Context(), "hdfs", "dfs", "-cat", "/.reserved/raw/zone/of/ours"); err != nil || strings.Contains(raw, "a line") {
			t.Errorf("what is stored isn't encrypted, %v", err)
		}
		if err := fs.Remove(t.Context(), "/zone/of/ours"); err != nil {
			t.Error(err)
		}
		if err := fs.Remove(t.Context(), "/zone/of"); err != nil {
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

// whole reads a file.
func whole(t *testing.T, fs *hdfsadapter.FS, name string) (string, error) {
	t.Helper()
	r, err := fs.Open(t.Context(), name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}
