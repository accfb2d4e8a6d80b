package sources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"heddle/conf"
	"heddle/nm/localizer"
)

// memory is a file system of files by their locations.
type memory map[string]string

func (m memory) Stat(_ context.Context, _ localizer.Reader, at localizer.Location) (localizer.Info, error) {
	text, ok := m[at.String()]
	if !ok {
		return localizer.Info{}, missing(at)
	}
	return localizer.Info{Name: at.Name(), Size: int64(len(text)), ModTime: 7, Mode: 0o644}, nil
}

func (m memory) Open(_ context.Context, _ localizer.Reader, at localizer.Location) (io.ReadCloser, error) {
	text, ok := m[at.String()]
	if !ok {
		return nil, missing(at)
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (m memory) List(context.Context, localizer.Reader, localizer.Location) ([]localizer.Info, error) {
	return nil, errors.New("none")
}

func at(t *testing.T, text string) localizer.Location {
	t.Helper()
	l, err := ParseLocation(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func read(t *testing.T, s localizer.Source, by localizer.Reader, text string) (localizer.Info, string) {
	t.Helper()
	info, err := s.Stat(t.Context(), by, at(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	r, err := s.Open(t.Context(), by, at(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return info, string(b)
}

// webhdfs is a NameNode and a DataNode; standby: it is no use.
func webhdfs(standby bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		fail := func(status int, exception string) {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"RemoteException":{"exception":%q,"message":"no: %s\nat java"}}`, exception, r.URL.Path)
		}
		switch {
		case standby:
			fail(http.StatusForbidden, "StandbyException")
		case r.URL.Path == "/data":
			fmt.Fprint(w, "of ann")
		case r.URL.Query().Get("user.name") != "ann":
			fail(http.StatusForbidden, "AccessControlException")
		case r.URL.Path != "/webhdfs/v1/jobs/a file":
			fail(http.StatusNotFound, "FileNotFoundException")
		case r.URL.Query().Get("op") == "GETFILESTATUS":
			fmt.Fprint(w, `{"FileStatus":{"length":6,"modificationTime":1234,"permission":"640","type":"FILE","pathSuffix":""}}`)
		case r.URL.Query().Get("op") == "OPEN":
			http.Redirect(w, r, "/data", http.StatusTemporaryRedirect)
		}
	}
}

// Resources outside of hdfs: and file: failed every container, and a client chooses them for each job.
func TestResourcesOfOtherFileSystemsAreRead(t *testing.T) {
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a file.jar" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", "3")
		fmt.Fprint(w, "jar")
	}))
	defer files.Close()
	standby, active := httptest.NewServer(webhdfs(true)), httptest.NewServer(webhdfs(false))
	defer standby.Close()
	defer active.Close()
	host := func(s *httptest.Server) string { u, _ := url.Parse(s.URL); return u.Host }
	c, err := conf.Load(conf.Options{Overrides: []string{
		"dfs.ha.namenodes.ns=a,b", "dfs.namenode.http-address.ns.a=" + host(standby), "dfs.namenode.http-address.ns.b=" + host(active),
		"fs.viewfs.mounttable.all.link./jobs=hdfs://nn:8020/user/jobs", "fs.viewfs.mounttable.all.link./jobs/old=hdfs://old:8020/", "fs.viewfs.mounttable.all.linkFallback=hdfs://rest:8020/",
		"fs.viewfs.mounttable.default.link./logs/x=hdfs://nn:8020/logs",
	}})
	if err != nil {
		t.Fatal(err)
	}
	const index = "%2F dir 1700000000000+493+ann+users 0 0 lib\n%2Flib dir 1700000000000+493+ann+users 0 0 a+b.jar\n%2Flib%2Fa+b.jar file part-0 3 5 1690000000000+416+ann+users\n"
	usual := memory{
		"hdfs://nn:8020/user/jobs/x.jar": "linked", "hdfs://old:8020/y": "old", "hdfs://rest:8020/z": "rest",
		"hdfs://nn:8020/h/x.har/_index": index, "hdfs://nn:8020/h/x.har/part-0": "abcdefghij", "/h/x.har/_index": index, "/h/x.har/part-0": "abcdefghij",
	}
	all := All(Options{Conf: c, Usual: usual, Others: memory{"s3a://bucket/x": "by Java"}})
	ann := localizer.Reader{User: "ann"}
	for _, x := range []struct {
		name, content string
		size, modTime int64
		mode          fs.FileMode
	}{
		{files.URL + "/a file.jar", "jar", 3, 0, 0o666},
		{"webhdfs://" + host(active) + "/jobs/a file", "of ann", 6, 1234, 0o640},
		{"webhdfs://ns/jobs/a file", "of ann", 6, 1234, 0o640},
		{"viewfs://all/jobs/x.jar", "linked", 6, 7, 0o644},
		{"viewfs://all/jobs/old/y", "old", 3, 7, 0o644},
		{"viewfs://all/z", "rest", 4, 7, 0o644},
		{"har://hdfs-nn:8020/h/x.har/lib/a b.jar", "defgh", 5, 1690000000000, 0o644},
		{"har:///h/x.har/lib/a b.jar", "defgh", 5, 1690000000000, 0o644},
		{"s3a://bucket/x", "by Java", 7, 7, 0o644},
	} {
		info, content := read(t, all, ann, strings.ReplaceAll(x.name, " ", "%20"))
		if content != x.content || info.Size != x.size || info.ModTime != x.modTime || info.Mode != x.mode {
			t.Errorf("%s: %q, %+v", x.name, content, info)
		}
	}
	for name, want := range map[string]error{
		files.URL + "/no": fs.ErrNotExist, "webhdfs://ns/jobs/no": fs.ErrNotExist, "har:///h/x.har/no": fs.ErrNotExist, "har:///no.har/x": fs.ErrNotExist,
	} {
		if _, err := all.Stat(t.Context(), ann, at(t, name)); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := all.Stat(t.Context(), localizer.Reader{User: "bob"}, at(t, "webhdfs://ns/jobs/a%20file")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file of somebody else's: %v", err)
	}
	if info, err := all.Stat(t.Context(), ann, at(t, "viewfs:///logs")); err != nil || !info.Mode.IsDir() {
		t.Errorf("a folder of the mount table: %+v, %v", info, err)
	}
	if _, err := All(Options{Conf: c, Usual: usual}).Stat(t.Context(), ann, at(t, "s3a://bucket/x")); err == nil || !strings.Contains(err.Error(), `scheme "s3a"`) {
		t.Errorf("without Java: %v", err)
	}
}

func TestIndexesThatAreWrongAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"%2Fx file part-0 1":           "4 words",
		"%2Fx file part-0 -1 5 0":      "a start",
		"%2Fx file ../../etc/x 0 5 0":  "not the name of a part",
		"%2 dir 1+493 0 0":             "escape",
		"%2Fx file part-0 0 many what": "a size",
	} {
		if _, err := parseIndex(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add([]byte("%2F dir 1700000000000+493+ann+users 0 0 lib\n%2Flib%2Fa file part-0 3 5 1690000000000+416+ann+users\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := parseIndex(bytes.NewReader(raw))
		if err != nil {
			return
		}
		for name, e := range all {
			if name == "" || name[0] != '/' || e.size < 0 || e.start < 0 || !e.dir && strings.Contains(e.part, "/") {
				t.Errorf("%q: %+v", name, e)
			}
		}
	})
}

func FuzzParseLocation(f *testing.F) {
	f.Add("hdfs://nn:8020/a")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLocation(text)
		if err == nil && (l.Port < 0 || l.Port > 65535) {
			t.Errorf("port %s", strconv.Itoa(int(l.Port)))
		}
	})
}
