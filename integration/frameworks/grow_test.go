package frameworks

import (
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// grown is what testdata/Grow.java tells on a stock Hadoop, but for the application's id.
const grown = `at first: RUNNING <memory:256, vCores:1>, held <memory:256, vCores:1>
more: INCREASE_RESOURCE to <memory:512, vCores:2>, version 1
more: RUNNING <memory:512, vCores:2>, held <memory:512, vCores:2>
of an old version: refused: INCORRECT_CONTAINER_VERSION_ERROR, version 1
far too much: refused: RESOURCE_OUTSIDE_ALLOWED_RANGE, version 1
less: DECREASE_RESOURCE to <memory:256, vCores:1>, version 2
less: RUNNING <memory:256, vCores:1>, held <memory:256, vCores:1>
more again: INCREASE_RESOURCE to <memory:768, vCores:1>, version 3
more again: RUNNING <memory:768, vCores:1>, held <memory:768, vCores:1>
ended -105 <memory:768, vCores:1>
`

// TestGrow changes the size of a running container by Hadoop's client libraries, on Heddle and where one of the daemons is Hadoop's.
func TestGrow(t *testing.T) {
	source, err := filepath.Abs("testdata/Grow.java")
	if err != nil {
		t.Fatal(err)
	}
	grow := func(t *testing.T, l *hadooplab.Lab) {
		t.Helper()
		r := succeed(t, l, l.JavaCommand(".", source))
		if _, got, _ := strings.Cut(r.Stdout, "\n"); got != grown {
			t.Errorf("%s\nwant\n%s", got, grown)
		}
	}
	t.Run("both", func(t *testing.T) { grow(t, lab.Lab(t)) })
	if !hadooplab.OnHeddle() {
		return
	}
	for role, name := range map[string]string{"nm": "Hadoop's NodeManager", "rm": "Hadoop's ResourceManager"} {
		t.Run(name, func(t *testing.T) {
			o := options
			o.Stock = role
			grow(t, hadooplab.Start(t, o))
		})
	}
}
