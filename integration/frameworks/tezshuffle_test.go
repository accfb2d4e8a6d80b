package frameworks

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/integration/jvmtest"
)

// tezVariable names a folder with the sources of Tez 0.10.5 (the unpacked release, or a checkout of rel/release-0.10.5): no version of the handler's jar is on
// Maven Central, so the test compiles it.
const tezVariable = "HEDDLE_TEST_TEZ"

// tezHandler returns a jar with Tez's shuffle handler, compiled against Tez's other jars.
func tezHandler(t *testing.T, sources, jars string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(sources, "tez-plugins/tez-aux-services/src/main/java/org/apache/tez/auxservices/*.java"))
	if err != nil || len(list) == 0 {
		t.Fatalf("%s has no sources of tez-aux-services, %v", sources, err)
	}
	jar := filepath.Join(t.TempDir(), "tez-aux-services.jar")
	if out, err := exec.Command("jar", "cf", jar, "-C", jvmtest.CompileWith(t, filepath.Join(jars, "*"), list...), "org").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return jar
}

// TestTezShuffleHandler counts words on a node whose only shuffle is Tez's own handler, in the JVM beside the node.
func TestTezShuffleHandler(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	sources := os.Getenv(tezVariable)
	if sources == "" {
		t.Skip(tezVariable + " names no folder with Tez's sources, which have the shuffle handler")
	}
	jars, err := hadooplab.Maven(t.Context(), "tez", tezPOM)
	if err != nil {
		t.Fatal("fetching Tez: ", err)
	}
	o := options
	o.HistoryServer = false
	o.Site = maps.Clone(options.Site)
	if o.Site == nil {
		o.Site = map[string]string{}
	}
	maps.Copy(o.Site, map[string]string{
		"yarn.nodemanager.aux-services":                       "tez_shuffle",
		"yarn.nodemanager.aux-services.tez_shuffle.class":     "org.apache.tez.auxservices.ShuffleHandler",
		"yarn.nodemanager.aux-services.tez_shuffle.classpath": tezHandler(t, sources, jars) + ":" + jars + "/*",
		"yarn.nodemanager.recovery.enabled":                   "true",
		"tez.shuffle.port":                                    "0",
	})
	l := hadooplab.Start(t, o)
	example := tez(t, l)
	in, want := text(4000, 1)
	l.Put(t, "/tez-shuffle/in", in)
	r := succeed(t, l, example("orderedwordcount", "-Dtez.am.shuffle.auxiliary-service.id=tez_shuffle", "-counter", "/tez-shuffle/in", "/tez-shuffle/out", "2"))
	sameCounts(t, lines(t, l, "/tez-shuffle/out/part*"), want)
	if fetched := tezCounter(r.Stderr, "SHUFFLE_BYTES"); fetched <= 0 || strings.Contains(r.Stderr, "Vertex re-running") {
		t.Errorf("%d bytes were fetched\n%s", fetched, r.Stderr)
	}
}
