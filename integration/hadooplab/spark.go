package hadooplab

import (
	"context"
	"fmt"
	"path/filepath"
)

// SparkVersion is the version of Spark that jobs use unless they test another one.
const SparkVersion = "4.0.1"

// Spark returns the folder of an installed version of Spark ($SPARK_HOME). The first time it downloads Spark from PyPI
// (400 MB).
func Spark(ctx context.Context, version string) (string, error) {
	dir, err := PyPI(ctx, "spark-"+version, "pyspark=="+version)
	if err != nil {
		return "", fmt.Errorf("fetching Spark: %w", err)
	}
	return filepath.Join(dir, "pyspark"), nil
}
