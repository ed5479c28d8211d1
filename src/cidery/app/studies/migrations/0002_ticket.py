from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="assignment",
            name="ticket",
            field=models.BigIntegerField(default=0),
        ),
        migrations.RunSQL(
            "UPDATE studies_assignment SET ticket = id WHERE judge_id IS NOT NULL",
            migrations.RunSQL.noop,
        ),
    ]
