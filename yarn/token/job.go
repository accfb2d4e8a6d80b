package token

import (
	"fmt"

	"heddle/yarn/writable"
)

// ShuffleSecretAlias is the alias, among a MapReduce job's secrets, of the key that shuffle requests are signed with
// (Hadoop: TokenCache.SHUFFLE_TOKEN). Without it reducers use the password of the job token.
const ShuffleSecretAlias = "MapReduceShuffleToken"

// JobTokenAlias is the alias of a MapReduce job's token in the credentials of its tasks.
const JobTokenAlias = "JobToken"

// Job returns the token of a MapReduce job. Its service is the job's id (job_<timestamp>_<number>).
func Job(key *MasterKey, jobID string) Token {
	return key.Mint(KindJob, jobID, writable.AppendText(nil, jobID))
}

// ParseJob reads the identifier of a MapReduce job's token.
func ParseJob(identifier []byte) (jobID string, err error) {
	r := writable.NewReader(identifier)
	if jobID, err = r.Text(); err != nil {
		return "", fmt.Errorf("identifier of a job token: %w", err)
	}
	return jobID, nil
}

// ShuffleSecret returns the key of a job's shuffle from the service data that a job's container start carries for
// mapreduce_shuffle. The data is a Writable token, and the key is its password. Bytes after the token are ignored.
func ShuffleSecret(serviceData []byte) (secret []byte, jobID string, err error) {
	t, err := Read(writable.NewReader(serviceData))
	if err != nil {
		return nil, "", fmt.Errorf("service data of mapreduce_shuffle: %w", err)
	}
	return t.Password, t.Service, nil
}
