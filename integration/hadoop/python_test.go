package hadoop

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/integration/hadooplab"
)

// pip returns a folder with packages of PyPI's, which are fetched the first time.
func pip(t *testing.T, name string, packages ...string) string {
	t.Helper()
	dir, err := hadooplab.PyPI(t.Context(), name, packages...)
	if err != nil {
		t.Fatal("fetching from PyPI: ", err)
	}
	return dir
}

// better are answers of Heddle's that are on purpose not those of a stock Hadoop: what a client does wrong is a 4xx.
var better = map[string]string{
	"cluster_change_application_queue, unknown": "400 BadRequestException",
	"cluster_new_reservation":                   "400 BadRequestException",
	"cluster_update_application_timeout, bad":   "400 DateTimeParseException",
}

// TestYARNAPIClient calls all methods of yarn-api-client. testdata/yarn_api_client.txt has the shapes of a stock cluster's
// answers.
func TestYARNAPIClient(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	site := pip(t, "yarn-api-client-1.0.3", "yarn-api-client==1.0.3")
	done := succeed(t, l, sleeper, "-m", "1", "-r", "0", "-mt", "10")
	_, app := begin(t, l, sleeper, "-m", "1", "-r", "0", "-mt", "600000")
	at := func(service string) string { return fmt.Sprintf("http://localhost:%d", l.Port(service)) }
	client := exec.Command("python3", "testdata/yarn_api_client.py", at("rm-http"), at("nodemanager1-http"), at("history-http"), site, app, done.app)
	var stderr strings.Builder
	client.Stderr = &stderr
	out, err := client.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, &stderr)
	}
	if _, err := l.Run(t.Context(), "yarn", "application", "-kill", app); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile("testdata/yarn_api_client.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := answers(string(b))
	if onHeddle {
		maps.Copy(want, better)
	}
	if diff := cmp.Diff(want, answers(string(out))); diff != "" {
		t.Errorf("(-stock +this):\n%s", diff)
	}
}

// answers are the shapes of answers by method.
func answers(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		method, shape, _ := strings.Cut(strings.TrimSpace(line), ": ")
		out[method] = shape
	}
	return out
}

const mrjob = `
from mrjob.job import MRJob

class Words(MRJob):
    def mapper(self, _, line):
        for word in line.split():
            yield word, 1

    def combiner(self, word, counts):
        yield word, sum(counts)

    def reducer(self, word, counts):
        self.increment_counter("words", "different")
        yield word, sum(counts)

if __name__ == "__main__":
    Words.run()
`

// TestMRJob counts words by mrjob's runner for Hadoop, which calls the command hadoop.
func TestMRJob(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	site := pip(t, "mrjob-0.7.4", "mrjob==0.7.4", "setuptools<80")
	dir := t.TempDir()
	program, input := filepath.Join(dir, "words.py"), filepath.Join(dir, "input")
	in := text(500)
	for path, content := range map[string]string{program: mrjob, input: in} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lib, err := l.Jar("hadoop-streaming")
	if err != nil {
		t.Fatal(err)
	}
	hadoop := script(t, "hadoop", l.Script("hadoop"))
	cmd := exec.Command("python3", program, "-r", "hadoop", "--hadoop-bin", hadoop, "--hadoop-streaming-jar", lib, "--python-bin", "python3", input)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+site, "HADOOP_HOME="+dir, "HADOOP_CONF_DIR="+l.Conf())
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	want := strings.ReplaceAll(wordCount(in), "\t", "\"\t")
	if got := strings.ReplaceAll("\n"+string(out), "\n\"", "\n"); strings.TrimPrefix(got, "\n") != want {
		t.Errorf("%s\nwant\n%s", out, want)
	}
	if different := fmt.Sprintf("different=%d\n", strings.Count(want, "\n")); !strings.Contains(stderr.String(), different) {
		t.Errorf("no %s\n%s", different, &stderr)
	}
}
