// Package served has the paths of map outputs that a node's shuffle service serves, and fetches them for reduces. The service is Hadoop's
// ShuffleHandler, or Heddle's. It needs no container, so workers can end when their maps are done.
//
// The service doesn't interpret the bytes. They are the sorted lines for a reduce, and their CRC-32C in four bytes, big-endian.
package served

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"heddle/am/mapreduce/lines"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// Service is the name of the service among a node's auxiliary ones.
const Service = "mapreduce_shuffle"

// variable is where a NodeManager tells containers of the service: its port, four bytes in base64 (Hadoop: AuxiliaryServiceHelper).
const variable = "NM_AUX_SERVICE_" + Service

// Port returns the port of the node's service; 0 if it has none.
func Port(getenv func(string) string) int {
	b, err := base64.StdEncoding.DecodeString(getenv(variable))
	if err != nil || len(b) != 4 {
		return 0
	}
	if p := binary.BigEndian.Uint32(b); p <= 65535 {
		return int(p)
	}
	return 0
}

// Secret returns the proof to the service that a caller belongs to the job. It follows from the job's key, which
// isn't told itself.
func Secret(key []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(Service))
	return h.Sum(nil)
}

// Data returns the data for the service with a container of the job: a token whose password is the secret.
func Data(app records.ApplicationID, secret []byte) []byte {
	t := token.Token{Identifier: []byte(jobID(app)), Password: secret, Kind: "mapreduce.job", Service: jobID(app)}
	return t.AppendWritable(nil)
}

func jobID(app records.ApplicationID) string {
	return fmt.Sprintf("job_%d_%04d", app.ClusterTimestamp, app.ID)
}

// perAttempt is how many attempts at a task an attempt at the application may have (Hadoop: MRJobConfig.APPLICATION_ATTEMPT_ID, by which
// MRAppMaster counts on). The service keeps indexes in memory, so that no name may come twice.
const perAttempt = 1000

// Name returns what the output of an attempt at a map is called, which an attempt at the application has made.
func Name(by records.AttemptID, task, attempt int) string {
	return fmt.Sprintf("attempt_%d_%04d_m_%06d_%d", by.App.ClusterTimestamp, by.App.ID, task,
		(int(by.Attempt)-1)*perAttempt+attempt)
}

// trailer is how many bytes follow the lines of a part: their sum.
const trailer = 4

// Leave moves a file, whose segments are sealed (lines.Sorter.Sealed), to where the service of the node finds it, and writes its index. local is
// the application's folder in a local directory, on the same file system (LOCAL_DIRS). The file's Path is the new one then.
func Leave(local, name string, f *lines.File) error {
	dir := filepath.Join(local, "output", name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	// The NodeManager may be another user, of the group of the folder.
	if err := os.Chmod(f.Path, 0o640); err != nil {
		return err
	}
	index := filepath.Join(dir, "file.out.index")
	if err := os.WriteFile(index+".tmp", Index(f.Segments), 0o640); err != nil {
		return err
	}
	data := filepath.Join(dir, "file.out")
	if err := os.Rename(f.Path, data); err != nil {
		return err
	}
	f.Path = data
	return os.Rename(index+".tmp", index) // the last: a reader that finds it finds all
}

// Index returns the index of a file with sealed segments, as org.apache.hadoop.mapred.SpillRecord has it: for each reduce the offset, the length of
// what it gets in the end, and the length in the file, and at last the CRC-32 of all that.
func Index(segments []lines.Segment) []byte {
	b := make([]byte, 0, 24*len(segments)+8)
	for _, g := range segments {
		b = binary.BigEndian.AppendUint64(b, uint64(g.Offset))
		b = binary.BigEndian.AppendUint64(b, uint64(g.Length))
		b = binary.BigEndian.AppendUint64(b, uint64(g.Length+trailer))
	}
	return binary.BigEndian.AppendUint64(b, uint64(crc32.ChecksumIEEE(b)))
}
