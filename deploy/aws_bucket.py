"""Make what deploy/aws-gpu.yaml needs on AWS: a private bucket for runs, and roles that may use it.

    python deploy/aws_bucket.py NAME --region us-west-2

Needs boto3 and your AWS credentials where boto3 finds them; none is read, asked for or written here. Run
twice, it changes nothing. The bucket: no public access, encrypted, TLS only; parts of uploads that a killed
process left, which cost money and are not to be seen, are removed after a day. Role `raytpnn-worker`: this
bucket and nothing else. Role `raytpnn-head`: this bucket, and to start and end machines for the autoscaler.
"""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from typing import Any

WORKER, HEAD = "raytpnn-worker", "raytpnn-head"
ASSUMED_BY_EC2 = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
    ],
}


def statement(actions: list[str], resources: list[str], **more: Any) -> dict[str, Any]:
    """Let somebody do something."""
    return {"Effect": "Allow", "Action": actions, "Resource": resources, **more}


def bucket_rights(bucket: str) -> list[dict[str, Any]]:
    """What a run needs of its bucket."""
    arn = f"arn:aws:s3:::{bucket}"
    return [
        statement(["s3:ListBucket", "s3:GetBucketLocation"], [arn]),
        statement(
            ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"], [f"{arn}/*"]
        ),
    ]


def autoscaler_rights(account: str) -> list[dict[str, Any]]:
    """What Ray's autoscaler needs to start machines with the worker's role, and to end them."""
    return [
        statement(["ec2:Describe*"], ["*"]),
        statement(["ec2:RunInstances", "ec2:CreateTags"], ["*"]),
        statement(
            ["ec2:TerminateInstances", "ec2:StopInstances", "ec2:StartInstances", "ec2:DeleteTags"],
            ["*"],
            Condition={"StringLike": {"ec2:ResourceTag/ray-cluster-name": "*"}},
        ),
        statement(["iam:PassRole"], [f"arn:aws:iam::{account}:role/{WORKER}"]),
        statement(["iam:GetInstanceProfile"], [f"arn:aws:iam::{account}:instance-profile/*"]),
    ]


def make_bucket(s3: Any, bucket: str, region: str) -> None:
    """Make the bucket, or close the one that is there."""
    where = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    with suppress(s3.exceptions.BucketAlreadyOwnedByYou):
        s3.create_bucket(Bucket=bucket, **where)
    closed = dict.fromkeys(
        ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), True
    )
    s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=closed)
    s3.put_bucket_encryption(
        Bucket=bucket,
        ServerSideEncryptionConfiguration={
            "Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
        },
    )
    s3.put_bucket_lifecycle_configuration(
        Bucket=bucket,
        LifecycleConfiguration={
            "Rules": [
                {
                    "ID": "uploads-that-were-given-up",
                    "Status": "Enabled",
                    "Filter": {"Prefix": ""},
                    "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1},
                }
            ]
        },
    )
    arn = f"arn:aws:s3:::{bucket}"
    refuse = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [arn, f"{arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps({"Version": "2012-10-17", "Statement": [refuse]}))


def make_role(iam: Any, name: str, rights: list[dict[str, Any]]) -> None:
    """Make a role that EC2 machines can have, with these rights and no others of ours."""
    with suppress(iam.exceptions.EntityAlreadyExistsException):
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(ASSUMED_BY_EC2))
    document = json.dumps({"Version": "2012-10-17", "Statement": rights})
    iam.put_role_policy(RoleName=name, PolicyName="raytpnn", PolicyDocument=document)
    with suppress(iam.exceptions.EntityAlreadyExistsException):
        iam.create_instance_profile(InstanceProfileName=name)
    profile = iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]
    if not profile["Roles"]:
        iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=name)


def main(arguments: list[str] | None = None) -> None:
    """Make bucket and roles."""
    import boto3

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bucket", help="name, unique in the world")
    parser.add_argument("--region", default="us-west-2", help="that of deploy/aws-gpu.yaml")
    options = parser.parse_args(arguments)
    account = boto3.client("sts", region_name=options.region).get_caller_identity()["Account"]
    make_bucket(boto3.client("s3", region_name=options.region), options.bucket, options.region)
    iam = boto3.client("iam", region_name=options.region)
    make_role(iam, WORKER, bucket_rights(options.bucket))
    make_role(iam, HEAD, bucket_rights(options.bucket) + autoscaler_rights(account))
    print(f"private bucket s3://{options.bucket} in {options.region}; roles {WORKER} and {HEAD}")


if __name__ == "__main__":
    main()
