package workdir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"heddle/nm/localizer"
	"heddle/yarn/records"
)

// known knows one application with one container.
type known struct{ id records.ContainerID }

func (k known) KnowsApplication(id records.ApplicationID) bool { return id == k.id.Attempt.App }
func (k known) KnowsContainer(id records.ContainerID) bool     { return id == k.id }

func TestLeftovers(t *testing.T) {
	app := func(n int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: n} }
	container := func(a int32, n int64) records.ContainerID {
		return records.ContainerID{Attempt: records.AttemptID{App: app(a), Attempt: 1}, ID: n}
	}
	local := t.TempDir()
	private := func(elems ...string) string {
		return filepath.Join(append([]string{local, localizer.NMPrivate}, elems...)...)
	}
	user := func(a int32, elems ...string) string {
		return filepath.Join(append([]string{localizer.AppDir(local, "ann", app(a))}, elems...)...)
	}
	outside := t.TempDir()
	for _, dir := range []string{
		private(app(1).String(), container(1, 1).String()), private(app(1).String(), container(1, 2).String()), private(app(2).String()),
		private("resource"), user(1, container(1, 1).String()), user(1, container(1, 2).String()), user(1, "filecache"), user(2, "x"),
		filepath.Join(outside, localizer.AppCache, app(3).String()),
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// a user of that name has put a link in the place of the folder
	if err := os.Symlink(outside, localizer.UserDir(local, "bob")); err != nil {
		t.Fatal(err)
	}
	users, ours := Leftovers(local, known{container(1, 1)})
	if want := []string{user(1, container(1, 2).String()), user(2)}; !slices.Equal(users, want) {
		t.Errorf("of users: %q, want %q", users, want)
	}
	if want := []string{private(app(1).String(), container(1, 2).String()), private(app(2).String())}; !slices.Equal(ours, want) {
		t.Errorf("private: %q, want %q", ours, want)
	}
}
