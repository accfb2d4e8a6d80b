package nm

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
)

func TestAuxiliaryServicesThatHeddleLacks(t *testing.T) {
	l := newLab(t, "yarn.nodemanager.aux-services=mapreduce_shuffle,spark_shuffle,other",
		"yarn.nodemanager.aux-services.spark_shuffle.class=org.apache.spark.network.yarn.YarnShuffleService",
		"yarn.nodemanager.aux-services.other.class=com.example.Other")
	var text bytes.Buffer
	log := logrus.New()
	log.Out = &text
	n, err := New(Options{Conf: l.conf(), Log: logrus.NewEntry(log)})
	if err != nil {
		t.Fatal(err)
	}
	n.Close()
	for _, want := range []string{
		"auxiliary service spark_shuffle is left out", "spark.dynamicAllocation.shuffleTracking.enabled=true",
		"auxiliary service other is left out", "Heddle has only org.apache.hadoop.mapred.ShuffleHandler",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in the log\n%s", want, &text)
		}
	}
}
