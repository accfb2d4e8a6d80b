package workdir

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"heddle/internal/userfiles"
	"heddle/nm/launch"
)

func TestLinks(t *testing.T) {
	jars, plain := t.TempDir(), filepath.Join(t.TempDir(), "plain")
	for _, file := range []string{filepath.Join(jars, "b.jar"), filepath.Join(jars, "a.jar"), plain} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := func(folder string) ([]os.FileInfo, error) { return userfiles.ReadDir(folder) }
	got, err := links(map[string]string{"libjars/*": jars, "data": plain, "packed": jars, "a*": plain}, list)
	want := []launch.Link{
		{Name: "a*", Target: plain},
		{Name: "a.jar", Target: filepath.Join(jars, "a.jar")},
		{Name: "b.jar", Target: filepath.Join(jars, "b.jar")},
		{Name: "data", Target: plain},
		{Name: "packed", Target: jars},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := links(map[string]string{"*": plain}, list); err == nil || !strings.Contains(err.Error(), `resource "*"`) {
		t.Errorf("a file as a folder: %v, %v", got, err)
	}
}
