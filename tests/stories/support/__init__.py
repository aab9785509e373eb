"""What the stories stand on: the server, a client of its API, receivers. SPDX-License-Identifier: Apache-2.0"""
