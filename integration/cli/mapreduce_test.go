package cli

import (
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// Hadoop's own example fails after README's first command if nobody serves its maps' outputs: heddle standalone without a folder does.
func TestHadoopJarRunsOnStandaloneWithoutAFolder(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	a := newAlone(t, map[string]string{ // the job's staging folder is root's
		"heddle.container.run-as-root": "true", "yarn.nodemanager.container-executor.class": "org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor",
	})
	site := map[string]string{"mapreduce.framework.name": "yarn", "yarn.app.mapreduce.am.resource.mb": "512", "mapreduce.map.memory.mb": "512", "mapreduce.reduce.memory.mb": "512"}
	for _, s := range a.set {
		if key, value, ok := strings.Cut(s, "="); ok {
			site[key] = value
		}
	}
	l := hadooplab.Start(t, hadooplab.Options{Site: site})
	jar, err := l.Jar("hadoop-mapreduce-examples")
	if err != nil {
		t.Fatal(err)
	}
	libraries := "-Dmapreduce.application.classpath=" + jar[:strings.LastIndex(jar, "/")] + "/*"
	out, err := l.Run(t.Context(), "hadoop", "jar", jar, "pi", libraries, "2", "10")
	if err != nil || !strings.Contains(out, "Estimated value of Pi is 3.") {
		t.Errorf("%v: %s", err, out)
	}
}
