package hadoop

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/integration/jvmtest"
	"heddle/internal/await"
	"heddle/internal/output"
	"heddle/internal/ports"
)

var (
	//go:embed testdata/ozone.xml
	ozonePOM []byte
	//go:embed testdata/o3fs.xml
	o3fsPOM []byte
)

// ozoneParents are POMs that those of Ozone 2.2.1 name as their parents and that not each registry serves. They say nothing that the jars' own don't.
func ozoneParents() map[string]string {
	of := map[string]string{}
	for name, parent := range map[string]string{"ozone": "ozone-main", "hdds-hadoop-dependency-client": "hdds"} {
		of[fmt.Sprintf("org/apache/ozone/%s/2.2.1/%[1]s-2.2.1.pom", name)] = fmt.Sprintf("<project><modelVersion>4.0.0</modelVersion>"+
			"<parent><groupId>org.apache.ozone</groupId><artifactId>%s</artifactId><version>2.2.1</version></parent><artifactId>%s</artifactId><packaging>pom</packaging></project>", parent, name)
	}
	return of
}

// ozone is an Ozone of three servers, all on this machine.
type ozone struct {
	t    *testing.T
	dir  string // conf, and the servers' data
	path string // class path of servers
}

// site writes a file of the configuration.
func (z *ozone) site(name string, set map[string]string) {
	z.t.Helper()
	if err := os.WriteFile(filepath.Join(z.dir, "conf", name), []byte(siteXML(set)), 0o644); err != nil {
		z.t.Fatal(err)
	}
}

func siteXML(set map[string]string) string {
	var b strings.Builder
	b.WriteString("<configuration>")
	for _, key := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>", key, set[key])
	}
	b.WriteString("</configuration>")
	return b.String()
}

// command makes a command of a class on a path beside the configuration.
func (z *ozone) command(path, class string, args ...string) *exec.Cmd {
	options := []string{"-Xmx384m", "--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED", "-cp", filepath.Join(z.dir, "conf") + ":" + path, class}
	cmd := exec.CommandContext(z.t.Context(), jvmtest.Java(z.t), slices.Concat(jvmtest.Options, options, args)...)
	cmd.Dir = z.dir // they leave folders where they are
	return cmd
}

// once runs a command to its end.
func (z *ozone) once(cmd *exec.Cmd) {
	z.t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		z.t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// server starts a server, and waits until it listens if it has an address.
func (z *ozone) server(class, address string) {
	z.t.Helper()
	log := &output.Buffer{}
	cmd := z.command(z.path, class)
	cmd.Stdout, cmd.Stderr = log, log
	z.t.Cleanup(func() {
		if text := log.String(); z.t.Failed() {
			z.t.Logf("end of what %s says:\n%s", class, text[max(0, len(text)-3000):])
		}
	})
	runs(z.t, cmd)
	if address != "" {
		listens(z.t, address)
	}
}

// startOzone starts an Ozone. URIs have the address of its manager.
func startOzone(t *testing.T) store {
	t.Helper()
	maven := func(name string, pom []byte) string {
		dir, err := hadooplab.MavenBeside(t.Context(), name, pom, ozoneParents())
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "*")
	}
	z := &ozone{t: t, dir: t.TempDir(), path: maven("ozone-2.2.1", ozonePOM)}
	client := maven("o3fs-2.2.1", o3fsPOM)
	if err := os.Mkdir(filepath.Join(z.dir, "conf"), 0o755); err != nil {
		t.Fatal(err)
	}
	at := ports.Loopback(t, 12)
	port := func(i int) string { return at[i][strings.LastIndex(at[i], ":")+1:] }
	om := "localhost:" + port(0)
	z.site("core-site.xml", map[string]string{"fs.defaultFS": "file:///"})
	z.site("ozone-site.xml", map[string]string{
		"ozone.metadata.dirs": z.dir + "/meta", "hdds.datanode.dir": z.dir + "/data", "hdds.container.ratis.datanode.storage.dir": z.dir + "/ratis",
		"ozone.om.address": om, "ozone.om.http-address": at[1], "ozone.om.ratis.port": port(2), "ozone.om.grpc.port": port(3),
		"ozone.scm.names": "localhost:" + port(4), "ozone.scm.datanode.address": "localhost:" + port(4), "ozone.scm.client.address": "localhost:" + port(5),
		"ozone.scm.block.client.address": "localhost:" + port(6), "ozone.scm.security.service.address": "localhost:" + port(7), "ozone.scm.http-address": at[8],
		"ozone.scm.ratis.port": port(9), "ozone.scm.grpc.port": port(10), "hdds.datanode.client.address": at[11], "hdds.datanode.http-address": "localhost:0",
		"hdds.datanode.replication.port": "0", "hdds.container.ipc.random.port": "true", "hdds.container.ratis.ipc.random.port": "true", "hdds.container.ratis.datastream.random.port": "true",
		"ozone.server.default.replication": "1", "ozone.replication": "1", "hdds.scm.safemode.min.datanode": "1",
		"ozone.scm.container.size": "128MB", "ozone.scm.block.size": "16MB",
	})
	const scm, manager = "org.apache.hadoop.hdds.scm.server.StorageContainerManagerStarter", "org.apache.hadoop.ozone.om.OzoneManagerStarter"
	z.once(z.command(z.path, scm, "--init"))
	z.server(scm, at[6])
	z.once(z.command(z.path, manager, "--init"))
	z.server(manager, at[0])
	z.server("org.apache.hadoop.ozone.HddsDatanodeService", "")
	shell := func(args ...string) *exec.Cmd {
		return z.command(filepath.Join(jvmtest.Hadoop(t), "*")+":"+client, "org.apache.hadoop.fs.FsShell", args...)
	}
	z.once(shell("-mkdir", "-p", "ofs://"+om+"/loom/data", "ofs://"+om+"/loom/history"))
	await.Slowly(t, "Ozone keeps a file", func() bool { // it is safe once its datanode has registered
		return shell("-put", filepath.Join(z.dir, "conf/ozone-site.xml"), "ofs://"+om+"/loom/history/first").Run() == nil
	})
	return store{"o3fs://data.loom." + om, "ofs://" + om + "/loom/history", client, map[string]string{
		"fs.o3fs.impl": "org.apache.hadoop.fs.ozone.OzoneFileSystem", "fs.AbstractFileSystem.o3fs.impl": "org.apache.hadoop.fs.ozone.OzFs",
		"fs.ofs.impl": "org.apache.hadoop.fs.ozone.RootedOzoneFileSystem", "fs.AbstractFileSystem.ofs.impl": "org.apache.hadoop.fs.ozone.RootedOzFs",
	}, map[string]string{"ozone-site.xml": siteXML(map[string]string{"ozone.replication": "1"})}}
}
