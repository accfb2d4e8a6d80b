package shuffle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"heddle/internal/userfiles"
)

const (
	dataName  = "file.out"
	indexName = "file.out.index"
)

// elems returns the path from a local directory to the outputs of a job.
func (j job) elems() []string {
	return []string{"usercache", j.user, "appcache", j.app.String(), "output"}
}

// notFoundError has the words of Hadoop's LocalDirAllocator.
type notFoundError struct {
	job     job
	attempt string
	name    string
}

func (e *notFoundError) Error() string {
	return fmt.Sprintf("Could not find %s/%s/%s in any of the configured local directories",
		strings.Join(e.job.elems(), "/"), e.attempt, e.name)
}

// validAttempt reports whether id can be the name of an attempt's directory.
func validAttempt(id string) bool {
	if id == "" || id[0] == '.' || len(id) > 255 {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.':
		default:
			return false
		}
	}
	return true
}

// find returns the place of an attempt's output, with its checked index.
func (s *Service) find(j job, attempt string) (output, error) {
	if !validAttempt(attempt) {
		return output{}, &notFoundError{j, attempt, indexName}
	}
	key := indexKey{j.app, attempt}
	if o, ok := s.indexes.get(key); ok {
		return o, nil
	}
	var broken error
	for _, dir := range s.cfg.Dirs.Readable() {
		o, err := s.load(j, attempt, dir)
		switch {
		case err == nil:
			s.indexes.put(key, o)
			return o, nil
		case !errors.Is(err, fs.ErrNotExist):
			broken = err // another disk may have it
		}
	}
	if broken != nil {
		return output{}, broken
	}
	return output{}, &notFoundError{j, attempt, indexName}
}

// load reads the index of an attempt in one local directory.
func (s *Service) load(j job, attempt, dir string) (output, error) {
	f, err := s.open(j, attempt, dir, indexName)
	if err != nil {
		return output{}, err
	}
	defer f.Close()
	ps, err := readIndex(f)
	switch {
	case errors.Is(err, errChecksum):
		return output{}, fmt.Errorf("Error Reading IndexFileChecksum error reading spill index: %s", f.Name())
	case err != nil:
		return output{}, fmt.Errorf("Error Reading IndexFile %s: %w", f.Name(), err)
	}
	return output{dir: dir, partitions: ps}, nil
}

// open opens a file of an attempt, if it is a regular file of the right user.
func (s *Service) open(j job, attempt, dir, name string) (*os.File, error) {
	uid := userfiles.Anybody
	if s.cfg.UID != nil {
		var err error
		if uid, err = s.cfg.UID(j.user); err != nil {
			return nil, err
		}
	}
	return userfiles.Open(dir, uid, append(j.elems(), attempt, name)...)
}

// piece is one map's part of a response.
type piece struct {
	attempt string
	reduce  int
	partition
	dir string
}

// piece looks up a reducer's part of an attempt's output. It opens the file to check that the whole part exists.
func (s *Service) piece(j job, attempt string, reduce int) (piece, *os.File, error) {
	o, err := s.find(j, attempt)
	if err != nil {
		return piece{}, nil, err
	}
	if reduce < 0 || reduce >= len(o.partitions) {
		return piece{}, nil, fmt.Errorf("Invalid request  Map Id = %s Reducer = %d Index Info Length = %d", //lint:ignore ST1005 ShuffleHandler's words
			attempt, reduce, len(o.partitions))
	}
	p := piece{attempt: attempt, reduce: reduce, partition: o.partitions[reduce], dir: o.dir}
	f, err := s.openPiece(j, p)
	if err != nil {
		s.indexes.forget(indexKey{j.app, attempt}) // read the index again next time
		return piece{}, nil, err
	}
	return p, f, nil
}

func (s *Service) openPiece(j job, p piece) (*os.File, error) {
	f, err := s.open(j, p.attempt, p.dir, dataName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &notFoundError{j, p.attempt, dataName}
	}
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && fi.Size() < p.start+p.size {
		err = fmt.Errorf("%s has %d bytes, the index wants %d at %d", f.Name(), fi.Size(), p.size, p.start)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
